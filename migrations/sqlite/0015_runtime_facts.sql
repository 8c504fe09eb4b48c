ALTER TABLE "function" ADD COLUMN "network" integer DEFAULT 0 NOT NULL;
--> statement-breakpoint
ALTER TABLE "function" ADD COLUMN "storage" integer DEFAULT 0 NOT NULL;
--> statement-breakpoint
ALTER TABLE "function" ADD COLUMN "pinned" integer DEFAULT 0 NOT NULL;
--> statement-breakpoint
ALTER TABLE "upstream_function" ADD COLUMN "network" integer DEFAULT 0 NOT NULL;
--> statement-breakpoint
ALTER TABLE "upstream_function" ADD COLUMN "storage" integer DEFAULT 0 NOT NULL;
--> statement-breakpoint
ALTER TABLE "upstream_function" ADD COLUMN "pinned" integer DEFAULT 0 NOT NULL;
--> statement-breakpoint
UPDATE "function" SET "network" = runtime_fact("shown"."definition", 'network'), "storage" = runtime_fact("shown"."definition", 'storage'),
  "pinned" = runtime_fact("shown"."definition", 'pinned')
  FROM "release" AS "shown" WHERE "shown"."function_id" = "function"."id" AND "shown"."release" = "function"."release";
--> statement-breakpoint
UPDATE "upstream_function" SET "network" = runtime_fact("shown"."json", 'network'), "storage" = runtime_fact("shown"."json", 'storage'),
  "pinned" = runtime_fact("shown"."json", 'pinned')
  FROM "entry" AS "shown" WHERE "shown"."digest" = "upstream_function"."entry";
