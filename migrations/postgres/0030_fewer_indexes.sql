-- The index of folded kinds has the same names, and each row of a catalog is a random page of an index of names.
DROP INDEX IF EXISTS "catalog_function_name";
