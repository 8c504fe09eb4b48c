CREATE TABLE "function" (
  "id" integer PRIMARY KEY NOT NULL,
  "group_name" text NOT NULL,
  "kind" text NOT NULL,
  "kind_folded" text NOT NULL,
  "revision" integer NOT NULL,
  "description" text NOT NULL,
  "publisher" text NOT NULL,
  "release" text NOT NULL,
  "versions" text NOT NULL,
  "tags" text NOT NULL,
  "runtimes" text NOT NULL,
  "licenses" text NOT NULL,
  "yanked" integer NOT NULL,
  "deprecated" integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX "function_name" ON "function" ("group_name", "kind_folded");
--> statement-breakpoint
CREATE INDEX "function_order" ON "function" ("group_name", "kind");
--> statement-breakpoint
CREATE INDEX "function_listing" ON "function" ("yanked", "group_name", "kind");
--> statement-breakpoint
CREATE INDEX "function_kind" ON "function" ("kind");
--> statement-breakpoint
CREATE INDEX "function_kind_folded" ON "function" ("kind_folded");
--> statement-breakpoint
CREATE INDEX "function_publisher" ON "function" ("publisher");
--> statement-breakpoint
CREATE VIRTUAL TABLE "function_text" USING fts5 (
  kind, tags, description, group_name, publisher,
  content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 2', prefix = '1 2 3'
);
--> statement-breakpoint
CREATE TABLE "function_facet" (
  "facet" text NOT NULL,
  "value" text NOT NULL,
  "function_id" integer NOT NULL REFERENCES "function" ("id"),
  PRIMARY KEY ("facet", "value", "function_id")
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX "function_facet_function" ON "function_facet" ("function_id", "facet");
--> statement-breakpoint
CREATE TABLE "release" (
  "id" integer PRIMARY KEY NOT NULL,
  "function_id" integer NOT NULL REFERENCES "function" ("id"),
  "release" text NOT NULL,
  "digest" text NOT NULL,
  "size" integer NOT NULL,
  "media_type" text NOT NULL,
  "readme" text,
  "versions" text NOT NULL,
  "tags" text NOT NULL,
  "publisher" text NOT NULL,
  "runtimes" text NOT NULL,
  "licenses" text NOT NULL,
  "published_at" text NOT NULL,
  "published_by" text NOT NULL,
  "yanked" text,
  "deprecated" text,
  "definition" text NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX "release_name" ON "release" ("function_id", "release");
--> statement-breakpoint
CREATE INDEX "release_digest" ON "release" ("digest");
--> statement-breakpoint
CREATE INDEX "release_readme" ON "release" ("readme");
--> statement-breakpoint
CREATE TABLE "event" (
  "sequence" integer PRIMARY KEY AUTOINCREMENT NOT NULL,
  "type" text NOT NULL,
  "at" text NOT NULL,
  "by" text NOT NULL,
  "group_name" text,
  "kind" text,
  "release" text,
  "digest" text,
  "catalog" text,
  "serial" integer,
  "reason" text
);
--> statement-breakpoint
CREATE TABLE "catalog" (
  "name" text PRIMARY KEY NOT NULL,
  "recipe" text NOT NULL,
  "applied_at" text NOT NULL,
  "applied_by" text NOT NULL,
  "applied_event" integer NOT NULL,
  "through_event" integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE "snapshot" (
  "catalog" text NOT NULL REFERENCES "catalog" ("name"),
  "serial" integer NOT NULL,
  "digest" text NOT NULL,
  "previous" text,
  "digests" text NOT NULL,
  "labels" text,
  "functions" integer NOT NULL,
  "created_at" text NOT NULL,
  PRIMARY KEY ("catalog", "serial")
);
--> statement-breakpoint
CREATE INDEX "snapshot_digest" ON "snapshot" ("catalog", "digest");
--> statement-breakpoint
CREATE TABLE "entry" (
  "digest" text PRIMARY KEY NOT NULL,
  "yaml" text NOT NULL,
  "json" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "catalog_function" (
  "catalog" text NOT NULL REFERENCES "catalog" ("name"),
  "group_name" text NOT NULL,
  "kind" text NOT NULL,
  "from_serial" integer NOT NULL,
  "to_serial" integer,
  "entry" text REFERENCES "entry" ("digest"),
  "selection" text NOT NULL,
  PRIMARY KEY ("catalog", "group_name", "kind", "from_serial")
);
--> statement-breakpoint
CREATE INDEX "catalog_function_serial" ON "catalog_function" ("catalog", "from_serial");
--> statement-breakpoint
CREATE INDEX "catalog_function_name" ON "catalog_function" ("group_name", "kind");
--> statement-breakpoint
CREATE TABLE "form" (
  "digest" text NOT NULL,
  "coding" text NOT NULL,
  "blob" text NOT NULL,
  PRIMARY KEY ("digest", "coding")
);
--> statement-breakpoint
CREATE INDEX "form_blob" ON "form" ("blob");
--> statement-breakpoint
CREATE TABLE "token" (
  "id" text PRIMARY KEY NOT NULL,
  "hash" text NOT NULL,
  "name" text NOT NULL,
  "scopes" text NOT NULL,
  "groups" text NOT NULL,
  "created_at" text NOT NULL,
  "created_by" text NOT NULL,
  "expires_at" text,
  "last_used_at" text,
  "revoked_at" text
);
--> statement-breakpoint
CREATE UNIQUE INDEX "token_hash" ON "token" ("hash");
