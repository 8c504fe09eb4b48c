-- Catalogs can have different entries of one function, and a search needs those of the catalogs that its actor may read.
DROP INDEX IF EXISTS "upstream_function_name";
--> statement-breakpoint
CREATE UNIQUE INDEX IF NOT EXISTS "upstream_function_entry" ON "upstream_function" ("group_name", "kind_folded", "entry");
--> statement-breakpoint
UPDATE "catalog" SET "searched_serial" = 0 WHERE EXISTS (SELECT 1 FROM "upstream_function");
