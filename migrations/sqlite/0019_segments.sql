CREATE TABLE "segment" (
  "digest" text PRIMARY KEY NOT NULL,
  "yaml" blob NOT NULL,
  "json" blob NOT NULL
);
--> statement-breakpoint
CREATE TABLE "catalog_segment" (
  "catalog" text NOT NULL REFERENCES "catalog" ("name"),
  "group_name" text NOT NULL,
  "kind" text NOT NULL,
  "segment" text NOT NULL REFERENCES "segment" ("digest"),
  "lines" text NOT NULL,
  PRIMARY KEY ("catalog", "group_name", "kind")
);
--> statement-breakpoint
CREATE INDEX "catalog_segment_segment" ON "catalog_segment" ("segment");
--> statement-breakpoint
ALTER TABLE "snapshot" ADD COLUMN "documents" text;
--> statement-breakpoint
DELETE FROM "form" WHERE "digest" NOT IN (SELECT "digest" FROM "profile_form" UNION ALL SELECT "report" FROM "profile_form");
