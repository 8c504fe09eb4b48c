ALTER TABLE "function" ADD COLUMN "published" text DEFAULT '' NOT NULL;
--> statement-breakpoint
UPDATE "function" SET "published" = "shown"."published_at"
  FROM "release" AS "shown" WHERE "shown"."function_id" = "function"."id" AND "shown"."release" = "function"."release";
--> statement-breakpoint
UPDATE "upstream_function" SET "images" = image_names("shown"."json")
  FROM "entry" AS "shown" WHERE "shown"."digest" = "upstream_function"."entry";
