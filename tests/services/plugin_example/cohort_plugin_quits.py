raise SystemExit("a package that ends the program that imports it")
