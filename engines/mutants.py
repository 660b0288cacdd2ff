def mutant(name): raise NotImplementedError
