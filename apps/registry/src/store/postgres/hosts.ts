import pg from 'pg';

/** Milliseconds in which a host of several has to answer. */
const PROBE_MS = 3_000;
/** The first host to try, by URL: that of the last connection. */
const firstOf = new Map<string, number>();

/** The configuration of a client, with those of the other hosts of its URL. */
export interface HostsConfig extends pg.ClientConfig {
  hosts?: readonly pg.ClientConfig[];
}

/**
 * Connects to the host of a URL that is the primary server. The driver knows one host. If the server ends the
 * connection, at any moment, the next statement fails, and the process goes on.
 */
export class PrimaryClient extends pg.Client {
  readonly #hosts: readonly pg.ClientConfig[];

  constructor(config: HostsConfig = {}) {
    super(config);
    this.#hosts = config.hosts ?? [];
    this.on('error', () => undefined);
  }

  override connect(): Promise<pg.Client>;
  override connect(callback: (error: Error) => void): void;
  override connect(callback?: (error: Error) => void): Promise<pg.Client> | undefined {
    const connecting = this.#connect();
    if (callback === undefined) return connecting;
    connecting.then(() => callback(undefined as unknown as Error), callback);
    return undefined;
  }

  async #connect(): Promise<pg.Client> {
    if (this.#hosts.length > 1) Object.assign(this, await findPrimary(this.#hosts));
    return super.connect();
  }
}

/** Tries the hosts in turn, beginning with that of the last connection. */
async function findPrimary(hosts: readonly pg.ClientConfig[]): Promise<{ host: string; port: number }> {
  const key = JSON.stringify(hosts.map(({ connectionString }) => connectionString));
  const first = firstOf.get(key) ?? 0;
  const problems: string[] = [];
  for (let tried = 0; tried < hosts.length; tried += 1) {
    const at = (first + tried) % hosts.length;
    const client = new pg.Client({
      ...hosts[at],
      connectionTimeoutMillis: PROBE_MS,
      query_timeout: PROBE_MS,
    });
    client.on('error', () => undefined);
    const { host, port } = client;
    try {
      await client.connect();
      const { rows } = await client.query<{ standby: number | boolean }>(
        'SELECT pg_is_in_recovery() AS standby',
      );
      if (!rows[0]!.standby) {
        firstOf.set(key, at);
        return { host, port };
      }
      problems.push(`${host}:${port} is a standby`);
    } catch (error) {
      // Wrong credentials are the same everywhere.
      if (/^28/.test((error as { code?: string }).code ?? '')) throw error;
      problems.push(`${host}:${port}: ${(error as Error).message || (error as { code?: string }).code}`);
    } finally {
      client.end().catch(() => undefined);
    }
  }
  // As the error of a host that cannot be reached.
  throw Object.assign(new Error(`no host is a primary server (${problems.join('; ')})`), {
    code: 'ENOPRIMARY',
  });
}
