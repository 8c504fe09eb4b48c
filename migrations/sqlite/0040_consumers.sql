CREATE TABLE "consumer" (
  "reporter" text NOT NULL,
  "name" text NOT NULL,
  "reported_at" text NOT NULL,
  PRIMARY KEY ("reporter", "name")
);
--> statement-breakpoint
CREATE INDEX "consumer_reported_at" ON "consumer" ("reported_at");
--> statement-breakpoint
CREATE TABLE "consumed_release" (
  "reporter" text NOT NULL,
  "name" text NOT NULL,
  "group_name" text NOT NULL,
  "kind" text NOT NULL,
  "kind_folded" text NOT NULL,
  "api_version" text NOT NULL,
  "release" text NOT NULL,
  "fields" text,
  PRIMARY KEY ("reporter", "name", "group_name", "kind_folded", "api_version", "release")
);
--> statement-breakpoint
CREATE INDEX "consumed_release_function" ON "consumed_release" ("group_name", "kind_folded");
