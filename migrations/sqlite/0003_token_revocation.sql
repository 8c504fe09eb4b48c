ALTER TABLE "token" ADD COLUMN "revoked_reason" text;
