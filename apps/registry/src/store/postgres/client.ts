import pg from 'pg';
import { translatePostgresError } from './errors.js';
import { PrimaryClient } from './hosts.js';
import { clientConfig } from './pool.js';
import { urlsOfHosts } from './url.js';

/** Runs long work on a connection of its own, without limits on its statements. */
export async function withClient<Result>(
  url: string,
  work: (client: pg.Client) => Promise<Result>,
): Promise<Result> {
  const client = await connect(url);
  try {
    return await work(client);
  } catch (error) {
    throw translatePostgresError(error);
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** Opens a connection without limits on its statements. */
export async function connect(url: string): Promise<pg.Client> {
  let client: pg.Client | undefined;
  try {
    client = new PrimaryClient(clientConfig(url));
    await client.connect();
    return client;
  } catch (error) {
    await client?.end().catch(() => undefined);
    throw translatePostgresError(error);
  }
}

/** Names a database for people, without the password. */
export function describePostgres(url: string): string {
  const clients = urlsOfHosts(url).map((one) => new pg.Client(clientConfig(one)));
  const hosts = clients.map(({ host, port }) => `${host}:${port}`);
  return `the database ${clients[0]!.database} on ${hosts.join(' or ')}`;
}
