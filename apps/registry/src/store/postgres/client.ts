import pg from 'pg';
import { translatePostgresError } from './errors.js';
import { clientConfig } from './pool.js';

/** Runs long work on a connection of its own, without limits on its statements. */
export async function withClient<Result>(
  url: string,
  work: (client: pg.Client) => Promise<Result>,
): Promise<Result> {
  let client: pg.Client | undefined;
  try {
    client = new pg.Client(clientConfig(url));
    client.on('error', () => undefined);
    await client.connect();
    return await work(client);
  } catch (error) {
    throw translatePostgresError(error);
  } finally {
    await client?.end().catch(() => undefined);
  }
}
