ALTER TABLE "function" ADD COLUMN "images" text DEFAULT '[]' NOT NULL;
--> statement-breakpoint
ALTER TABLE "upstream_function" ADD COLUMN "images" text DEFAULT '[]' NOT NULL;
--> statement-breakpoint
UPDATE "function" SET "images" = image_repositories("shown"."definition")
  FROM "release" AS "shown" WHERE "shown"."function_id" = "function"."id" AND "shown"."release" = "function"."release";
--> statement-breakpoint
UPDATE "upstream_function" SET "images" = image_repositories("shown"."json")
  FROM "entry" AS "shown" WHERE "shown"."digest" = "upstream_function"."entry";
--> statement-breakpoint
CREATE VIRTUAL TABLE "function_text_words" USING fts5vocab("function_text", "row");
