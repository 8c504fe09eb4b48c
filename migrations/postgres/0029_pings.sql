-- Processes of older versions would remove one that rarely renews its row.
DELETE FROM "process";
ALTER TABLE "process" DROP CONSTRAINT "process_tables_version_check", ADD CHECK ("tables_version" >= 4);
