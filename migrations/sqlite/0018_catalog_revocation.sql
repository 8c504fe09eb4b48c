DROP INDEX "event_revocation";
--> statement-breakpoint
CREATE INDEX "event_revocation" ON "event" ("sequence")
  WHERE "type" IN ('release.yanked', 'release.unyanked', 'release.taken-down', 'catalog.withdrawn',
  'catalog.deleted', 'catalog.restored');
