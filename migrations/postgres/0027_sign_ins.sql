CREATE TABLE "sign_in" (
  "id" text COLLATE "C" PRIMARY KEY NOT NULL,
  "user_id" text COLLATE "C" NOT NULL REFERENCES "registry_user" ("id") ON DELETE CASCADE,
  "sealed" text COLLATE "C" NOT NULL,
  "created_at" timestamptz NOT NULL,
  "confirmed_at" timestamptz NOT NULL,
  "ended_at" timestamptz
);
--> statement-breakpoint
DELETE FROM "operator_session" WHERE "user_id" IS NOT NULL;
--> statement-breakpoint
ALTER TABLE "operator_session" DROP COLUMN "refresh_token";
--> statement-breakpoint
ALTER TABLE "operator_session" DROP COLUMN "refreshed_at";
--> statement-breakpoint
ALTER TABLE "operator_session" ADD COLUMN "sign_in" text COLLATE "C" REFERENCES "sign_in" ("id") ON DELETE CASCADE;
--> statement-breakpoint
ALTER TABLE "operator_session" ADD COLUMN "sign_in_key" text COLLATE "C";
--> statement-breakpoint
CREATE INDEX "operator_session_sign_in" ON "operator_session" ("sign_in") WHERE "sign_in" IS NOT NULL;
--> statement-breakpoint
ALTER TABLE "token" ADD COLUMN "sign_in" text COLLATE "C" REFERENCES "sign_in" ("id") ON DELETE SET NULL;
--> statement-breakpoint
ALTER TABLE "token" ADD COLUMN "sign_in_key" text COLLATE "C";
--> statement-breakpoint
CREATE INDEX "token_sign_in" ON "token" ("sign_in") WHERE "sign_in" IS NOT NULL;
--> statement-breakpoint
DELETE FROM "login_request";
--> statement-breakpoint
ALTER TABLE "login_request" ADD COLUMN "public_key" text COLLATE "C" NOT NULL DEFAULT '';
--> statement-breakpoint
ALTER TABLE "login_request" ADD COLUMN "sign_in" text COLLATE "C" REFERENCES "sign_in" ("id") ON DELETE CASCADE;
--> statement-breakpoint
ALTER TABLE "login_request" ADD COLUMN "sign_in_key" text COLLATE "C";
--> statement-breakpoint
CREATE INDEX "login_request_sign_in" ON "login_request" ("sign_in") WHERE "sign_in" IS NOT NULL;
