CREATE TABLE "snapshot_signature" (
  "catalog" text NOT NULL,
  "serial" integer NOT NULL,
  "digest" text NOT NULL,
  "manifest" text,
  "key" text NOT NULL,
  "signed_at" text NOT NULL,
  "expires_at" text NOT NULL,
  "bundle" text NOT NULL,
  PRIMARY KEY ("catalog", "serial"),
  FOREIGN KEY ("catalog", "serial") REFERENCES "snapshot" ("catalog", "serial")
);
--> statement-breakpoint
CREATE INDEX "snapshot_signature_digest" ON "snapshot_signature" ("catalog", "digest");
