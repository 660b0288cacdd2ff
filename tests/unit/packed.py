"""The matrix page as a browser with JavaScript has it: what is packed stands in its places."""

import json
import re
from base64 import b85decode
from zlib import decompress

PLACE = re.compile(r"(<(section|details)[^>]* data-part=(\d+)[^>]*>)(.*?)(</\2>)", re.DOTALL)


def parts(page):
    """The markup of the parts, by number."""
    number, chars = re.search('<template id="parts">(.*?)</template>', page)[1].split(" ")
    content = b85decode(chars.replace(",", "&").replace(".", "<"))
    lines, found = json.loads(decompress(content[: int(number)]))
    runs = ([*zip(part[::2], part[1::2], strict=True)] for part in found)
    return ["\n".join(line for first, many in part for line in lines[first : first + many]) for part in runs]


def unpacked(page):
    """The text for browsers without JavaScript makes room where there is any, and every cell leads to its evidence."""
    found = parts(page)

    def whole(place):
        start, _, number, inner, end = place.groups()
        return start + re.sub("<noscript>.*?</noscript>", "", inner, flags=re.DOTALL) + found[int(number)] + end

    return PLACE.sub(whole, re.sub(r"(<a class=[a-z-]+ )id=", r"\1href=#", page))
