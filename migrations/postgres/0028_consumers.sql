CREATE TABLE "consumer" (
  "reporter" text COLLATE "C" NOT NULL,
  "name" text COLLATE "C" NOT NULL,
  "reported_at" timestamptz NOT NULL,
  PRIMARY KEY ("reporter", "name")
);
--> statement-breakpoint
CREATE INDEX "consumer_reported_at" ON "consumer" ("reported_at");
--> statement-breakpoint
CREATE TABLE "consumed_release" (
  "reporter" text COLLATE "C" NOT NULL,
  "name" text COLLATE "C" NOT NULL,
  "group_name" text COLLATE "C" NOT NULL,
  "kind" text COLLATE "C" NOT NULL,
  "kind_folded" text COLLATE "C" NOT NULL,
  "api_version" text COLLATE "C" NOT NULL,
  "release" text COLLATE "C" NOT NULL,
  "fields" text COLLATE "C",
  PRIMARY KEY ("reporter", "name", "group_name", "kind_folded", "api_version", "release")
);
--> statement-breakpoint
CREATE INDEX "consumed_release_function" ON "consumed_release" ("group_name", "kind_folded");
