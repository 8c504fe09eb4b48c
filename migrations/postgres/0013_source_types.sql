-- Each process has the tables of search in a file.
DROP TABLE "upstream_function", "upstream_change";
ALTER TABLE "catalog_source"
  ALTER COLUMN "next_at" TYPE timestamptz USING "next_at"::timestamptz,
  ALTER COLUMN "checked_at" TYPE timestamptz USING "checked_at"::timestamptz,
  ALTER COLUMN "copy" TYPE json USING "copy"::json;
DROP INDEX "upstream_entry_present";
ALTER TABLE "upstream_entry"
  ALTER COLUMN "first_seen" TYPE timestamptz USING "first_seen"::timestamptz,
  ALTER COLUMN "gone_at" TYPE timestamptz USING "gone_at"::timestamptz;
CREATE UNIQUE INDEX "upstream_entry_present" ON "upstream_entry" ("catalog", "group_name", "kind_folded", "source") WHERE "gone_at" IS NULL;
ALTER TABLE "unused_entry"
  ALTER COLUMN "since" TYPE timestamptz USING "since"::timestamptz;
