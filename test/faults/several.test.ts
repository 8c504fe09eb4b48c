import { afterAll, describe, expect, it } from 'vitest';
import { postgresMissing } from '../contracts/postgres.js';
import { hasS3Server } from '../interop/s3-server.js';
import { temporaryFolder } from '../running.js';
import type { Outcome } from './kill.js';
import { FAULTS, injectInSeveral } from './several.js';

/** A sample of `npm run faults -- --processes 3`: see docs/internals/fault-injection.md. */
describe.skipIf(postgresMissing !== undefined || !hasS3Server)(
  'faults of three processes (needs PostgreSQL and versitygw)',
  () => {
    const { folder, remove } = temporaryFolder();
    afterAll(remove);

    it('lose nothing, and every process tells the same', async () => {
      const outcomes: Outcome[] = [];
      const operations = await injectInSeveral({
        count: Object.keys(FAULTS).length,
        processes: 3,
        seed: Number(process.env.KRMHUB_TEST_SEED ?? 1),
        scratch: folder,
        clockMinutes: 5,
        report: (outcome) => outcomes.push(outcome),
      });
      expect(outcomes.flatMap(({ fault, losses }) => losses.map((loss) => `${fault}: ${loss}`))).toEqual([]);
      expect(operations).toBeGreaterThan(500);
      expect(outcomes.map(({ fault }) => fault)).toEqual(expect.arrayContaining(Object.keys(FAULTS)));
    });
  },
);
