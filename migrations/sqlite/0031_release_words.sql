CREATE TABLE "release_words" (
  "release" integer PRIMARY KEY NOT NULL REFERENCES "release" ("id") ON DELETE CASCADE,
  "fields" text NOT NULL,
  "readme" text NOT NULL
);
--> statement-breakpoint
CREATE VIRTUAL TABLE "function_text_whole" USING fts5 (
  kind, tags, description, group_name, publisher, fields, readme,
  content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 2'
);
--> statement-breakpoint
-- Search reads all upstream functions again.
UPDATE "catalog" SET "searched_serial" = 0 WHERE EXISTS (SELECT 1 FROM "upstream_function");
--> statement-breakpoint
UPDATE "upstream_function" SET "entry" = '';
