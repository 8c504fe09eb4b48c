ALTER TABLE "function" ADD COLUMN "published" timestamptz;
UPDATE "function" SET "published" = "shown"."published_at"
  FROM "release" AS "shown" WHERE "shown"."function_id" = "function"."id" AND "shown"."release" = "function"."release";
ALTER TABLE "function" ALTER COLUMN "published" SET NOT NULL;
