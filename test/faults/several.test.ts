import { afterAll, describe, expect, it } from 'vitest';
import { postgresMissing } from '../contracts/postgres.js';
import { hasS3Server } from '../interop/s3-server.js';
import { temporaryFolder } from '../running.js';
import { type Group, injectInSeveral } from './several.js';
import { FAULTS } from './several-faults.js';

/** A sample of `npm run faults -- --processes 3`: see docs/internals/fault-injection.md. */
describe.skipIf(postgresMissing !== undefined || !hasS3Server)(
  'faults of three processes (needs PostgreSQL and versitygw)',
  () => {
    const { folder, remove } = temporaryFolder();
    afterAll(remove);

    it('lose nothing, and every process tells the same', async () => {
      const groups: Group[] = [];
      await injectInSeveral({
        count: Object.keys(FAULTS).length,
        processes: 3,
        workers: 1,
        seed: Number(process.env.KRMHUB_TEST_SEED ?? 1),
        scratch: folder,
        clockMinutes: 5,
        report: (group) => groups.push(group),
      });
      expect(groups.flatMap(({ losses }) => losses)).toEqual([]);
      expect(groups.reduce((sum, { operations }) => sum + operations, 0)).toBeGreaterThan(500);
      expect(groups.flatMap(({ faults }) => faults).sort()).toEqual(Object.keys(FAULTS).sort());
    });
  },
);
