"""The generated pages of the documentation.

Pages are Markdown with the extensions that ``mkdocs.yml`` names. A page has the place in the site that its subject has
in the repository, so a link that works in one works in the other. ``docs/hooks.py`` gives the pages to MkDocs. MkDocs
has this folder's parent on the path while it reads the hooks.
"""
