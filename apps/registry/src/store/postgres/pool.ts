import { KrmhubError } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import pg from 'pg';
import { type HostsConfig, PrimaryClient } from './hosts.js';
import { readTime } from './time.js';
import { isPostgresUrl, urlsOfHosts } from './url.js';

/** Milliseconds for which opening a connection, or a free one of the pool, is waited for. */
const CONNECT_MS = 10_000;
/** Milliseconds for which a statement waits for locks: a write waits for the writes of other processes. */
const LOCK_MS = 30_000;
/** Milliseconds after which the server ends a statement. */
const STATEMENT_MS = 120_000;
/** Milliseconds after which a server that does not answer counts as unreachable. */
const ANSWER_MS = STATEMENT_MS + 10_000;
/**
 * Milliseconds after which the server ends a transaction whose process sends nothing: a process that is paused must not
 * keep the others from writing longer than it takes them to give it up.
 */
const IDLE_TRANSACTION_MS = 10_000;
/**
 * Milliseconds without traffic after which the system asks whether the server's machine is there; ten seconds later,
 * the connection breaks. The system's default is two hours.
 */
const KEEP_ALIVE_MS = 10_000;
/** Milliseconds after which an unused connection is closed. */
const IDLE_MS = 60_000;
/** Connections of the main thread. */
const MAX_CONNECTIONS = 10;

/** Opens a pool of connections, which connects at the first statement. Throws `usage` if the URL is wrong. */
export function openPool(url: string, connections = MAX_CONNECTIONS): pg.Pool {
  const pool = new pg.Pool({
    ...clientConfig(url),
    Client: PrimaryClient,
    max: connections,
    // BEGIN and the first statement of a read are sent together.
    pipeline: true,
    lock_timeout: LOCK_MS,
    statement_timeout: STATEMENT_MS,
    query_timeout: ANSWER_MS,
    idle_in_transaction_session_timeout: IDLE_TRANSACTION_MS,
    idleTimeoutMillis: IDLE_MS,
  });
  // A connection that breaks while it is unused has left the pool.
  pool.on('error', () => undefined);
  return pool;
}

/**
 * What connections have unless they say otherwise, whatever the settings of the server, the database, or the user are:
 * what `readTime` expects, and no limits, which would end long work, and connections that wait for news.
 */
const SETTINGS =
  '-c datestyle=ISO -c timezone=UTC -c statement_timeout=0 -c lock_timeout=0 -c idle_session_timeout=0 ' +
  '-c idle_in_transaction_session_timeout=0';

/** Returns the configuration of a connection without limits on its statements. */
export function clientConfig(url: string): HostsConfig {
  if (!isPostgresUrl(url)) {
    throw new KrmhubError('usage', 'the URL of the database is not valid', {
      hint: 'Use a URL as postgres://USER@HOST:5432/DATABASE.',
    });
  }
  const configs = urlsOfHosts(url).map((one) => ({
    connectionString: withSettings(one),
    application_name: 'krmhub',
    connectionTimeoutMillis: CONNECT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    types: valueTypes(),
  }));
  return { ...configs[0], ...defined({ hosts: configs.length > 1 ? configs : undefined }) };
}

/** As `clientConfig`, for a process beside others that write. */
export function writerConfig(url: string): HostsConfig {
  return { ...clientConfig(url), idle_in_transaction_session_timeout: IDLE_TRANSACTION_MS };
}

/** Returns the URL with the settings. Other options, of the URL or PGOPTIONS, stay. */
function withSettings(url: string): string {
  // pg would also read the certificates that the URL names, whose absence is an error of the connection.
  const own = new URLSearchParams(url.split('?')[1]).getAll('options').at(-1);
  const { connectionParameters } = new pg.Client({ options: own }) as unknown as ParsedClient;
  const options = `${connectionParameters.options ?? ''} ${SETTINGS}`.trim();
  // pg would encode a URL with spaces again.
  const address = url.replaceAll(' ', '%20');
  // The last one counts.
  return `${address}${url.includes('?') ? '&' : '?'}options=${encodeURIComponent(options)}`;
}

/** What a client has read from its settings and the environment; its types lack it. */
interface ParsedClient {
  connectionParameters: { options?: string };
}

/** Values as the code has them: numbers, flags that are 0 or 1, JSON as text, and times as ISO texts. */
function valueTypes(): pg.TypeOverrides {
  const types = new pg.TypeOverrides();
  // None is above 2^53.
  types.setTypeParser(pg.types.builtins.INT8, Number);
  types.setTypeParser(pg.types.builtins.NUMERIC, Number);
  types.setTypeParser(pg.types.builtins.BOOL, (value) => Number(value === 't'));
  types.setTypeParser(pg.types.builtins.JSON, String);
  types.setTypeParser(pg.types.builtins.JSONB, String);
  types.setTypeParser(pg.types.builtins.TIMESTAMPTZ, readTime);
  return types;
}
