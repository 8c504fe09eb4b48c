CREATE TABLE "access" (
  "id" integer PRIMARY KEY NOT NULL,
  "revision" integer NOT NULL,
  "text" text NOT NULL,
  "applied_at" text NOT NULL,
  "applied_by" text NOT NULL
);
--> statement-breakpoint
ALTER TABLE "token" ADD COLUMN "team" text;
--> statement-breakpoint
INSERT INTO "access" ("id", "revision", "text", "applied_at", "applied_by")
SELECT 1, 1, 'apiVersion: krmhub.dev/v1alpha1
kind: Access
metadata: {name: registry}
spec:
  # An earlier version of krmhub opened every group to each token that may publish in it.
  openGroups: ["*"]
', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), 'krmhub'
WHERE EXISTS (SELECT 1 FROM "token");
