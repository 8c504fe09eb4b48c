import { mkdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { expectExchangesAsModel } from '../authorization/exchange-property.js';
import { postgresMissing } from '../contracts/postgres.js';
import { useServers } from './servers.js';

describe.skipIf(postgresMissing)('a registry with its database in PostgreSQL (needs PostgreSQL)', () => {
  const servers = useServers({ postgres: true });

  it.each([6])(
    'gives a workflow a token exactly where a model says so, for what it says: seed %i',
    async (seed) => {
      const databaseUrl = await servers.postgres.createDatabase();
      const folder = servers.at(`${seed}`);
      mkdirSync(folder, { mode: 0o700 });
      const options = { folder, config: { databaseUrl } };
      const counts = await expectExchangesAsModel({ seed, steps: 150 }, options);
      for (const [name, count] of Object.entries(counts)) expect(count, name).toBeGreaterThan(2);
    },
  );
});
