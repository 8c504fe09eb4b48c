ALTER TABLE "catalog" ADD COLUMN "searched_serial" integer DEFAULT 0 NOT NULL;
--> statement-breakpoint
UPDATE "catalog" SET "searched_serial" = coalesce((SELECT max("serial") FROM "snapshot" WHERE "snapshot"."catalog" = "catalog"."name"), 0);
--> statement-breakpoint
CREATE INDEX "catalog_function_folded" ON "catalog_function" ("group_name", lower("kind"));
--> statement-breakpoint
CREATE TABLE "upstream_function" (
  "id" integer PRIMARY KEY NOT NULL,
  "group_name" text NOT NULL,
  "kind" text NOT NULL,
  "kind_folded" text NOT NULL,
  "description" text NOT NULL,
  "publisher" text NOT NULL,
  "versions" text NOT NULL,
  "tags" text NOT NULL,
  "runtimes" text NOT NULL,
  "licenses" text NOT NULL,
  "entry" text NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX "upstream_function_name" ON "upstream_function" ("group_name", "kind_folded");
--> statement-breakpoint
CREATE INDEX "upstream_function_order" ON "upstream_function" ("group_name", "kind");
--> statement-breakpoint
CREATE INDEX "upstream_function_kind_folded" ON "upstream_function" ("kind_folded");
--> statement-breakpoint
CREATE TABLE "upstream_change" (
  "sequence" integer PRIMARY KEY AUTOINCREMENT NOT NULL,
  "group_name" text NOT NULL,
  "kind" text NOT NULL
);
