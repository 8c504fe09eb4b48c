CREATE INDEX "entry_sizes" ON "entry" ("digest", octet_length("yaml"), octet_length("json"));
--> statement-breakpoint
DROP INDEX "catalog_function_held";
--> statement-breakpoint
CREATE INDEX "catalog_function_held" ON "catalog_function" ("catalog", "group_name", "kind", "from_serial", "to_serial", "entry", "selection" ->> '$.versions[0].source') WHERE "entry" IS NOT NULL;
