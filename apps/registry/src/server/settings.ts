import { DEFAULT_RESTORE_DAYS } from '../catalogs/delete-catalog.js';
import { LOG_LEVELS } from '../log.js';

export interface Setting {
  name: `KRMHUB_${string}`;
  /** Option of `krmhub serve`. */
  flag?: string;
  unit: string;
  default: string;
  why: string;
}

/** Every setting of the server; docs/configuration.md is generated from it. */
export const SETTINGS = {
  host: {
    name: 'KRMHUB_HOST',
    flag: '--host',
    unit: 'address or host name',
    default: '127.0.0.1',
    why: 'Address to listen on. By default, only this machine can connect to the registry. With `0.0.0.0`, the registry listens on every network. Use a TLS proxy in front of it.',
  },
  port: {
    name: 'KRMHUB_PORT',
    flag: '--port',
    unit: 'TCP port, 0 to 65535',
    default: '8080',
    why: 'Port to listen on. 0 means any free port.',
  },
  data: {
    name: 'KRMHUB_DATA',
    flag: '--data',
    unit: 'folder',
    default: './data',
    why: 'Folder of the database, the blobs, and the first administrator token. If it does not exist, the registry creates it and allows access only for its owner.',
  },
  keys: {
    name: 'KRMHUB_KEYS',
    flag: '--keys',
    unit: 'folder',
    default: '`keys` in the data folder',
    why: 'Folder of the keys that sign snapshots. It can be read-only if it has a key. All processes of a registry must have the same keys. See [Manage the registry key](operate-keys.md).',
  },
  databaseUrl: {
    name: 'KRMHUB_DATABASE_URL',
    flag: '--database-url',
    unit: '`postgres://USER:PASSWORD@HOST:5432/DATABASE`',
    default: 'none; the database is a SQLite file in the data folder',
    why: 'PostgreSQL database of one registry process. The password can also be in PGPASSWORD. See [Keep the database in PostgreSQL](operate-postgres.md).',
  },
  blobUrl: {
    name: 'KRMHUB_BLOB_URL',
    flag: '--blob-url',
    unit: '`s3://BUCKET/PREFIX?endpoint=URL&region=REGION`',
    default: 'none; blobs are in the data folder',
    why: 'S3-compatible store of published files and pushed blobs. Without an endpoint, it is Amazon S3. The default region is AWS_REGION, else us-east-1. Credentials are where the tools of AWS look for them. See [Keep blobs in S3](operate-s3.md).',
  },
  blobCacheMebibytes: {
    name: 'KRMHUB_BLOB_CACHE_MEBIBYTES',
    unit: 'mebibytes, 0 for no cache',
    default: '1024',
    why: 'Size of the copies of blobs in the data folder when the blobs are in S3. The registry deletes the least recently used copies.',
  },
  blobRedirect: {
    name: 'KRMHUB_BLOB_REDIRECT',
    unit: 'true or false',
    default: 'false',
    why: 'Whether the registry redirects clients to presigned URLs for pushed blobs of 64 KiB or more when the blobs are in S3. The clients must be able to connect to the endpoint.',
  },
  publicUrl: {
    name: 'KRMHUB_PUBLIC_URL',
    unit: 'http or https URL',
    default: 'the address that the registry listens on',
    why: 'Public URL of a registry behind a proxy. Links, `Location`, the OpenAPI document, and the token realm use it. The proxy can strip or keep the path. With https, the registry tells browsers to use only https. The operator pages accept forms only from this origin.',
  },
  highlights: {
    name: 'KRMHUB_HIGHLIGHTS',
    unit: 'functions as `GROUP/KIND`, separated by commas, at most 12',
    default: 'none',
    why: 'Functions that the first page shows before the newest releases. The registry warns at startup of those that it does not have, and omits them.',
  },
  trustedProxies: {
    name: 'KRMHUB_TRUSTED_PROXIES',
    unit: 'addresses and CIDR ranges, separated by commas',
    default: 'none',
    why: 'Proxies whose `X-Forwarded-For` is trusted. The client address for limits and the log is the rightmost address that is not a trusted proxy.',
  },
  internalAddresses: {
    name: 'KRMHUB_INTERNAL_ADDRESSES',
    unit: 'addresses and CIDR ranges, separated by commas',
    default: 'none',
    why: 'Networks whose clients see what is internal without a token, but never what is private. The address of a client is found as for `KRMHUB_TRUSTED_PROXIES`: list your proxies there, because a request that another proxy forwards is not internal. The request must be for the host of `KRMHUB_PUBLIC_URL`, or, without a proxy, for an address or a local name.',
  },
  requestsPerMinute: {
    name: 'KRMHUB_REQUESTS_PER_MINUTE',
    unit: 'requests of one client address per minute, 0 for no limit',
    default: '3000',
    why: 'Limit on requests that require computation: searches, details, and histories. Stored bytes (newest catalogs, definitions, READMEs), health, readiness, and metrics do not count. All IPv6 addresses of a /64 network count together. A client can use the whole quota at once. Each process counts separately.',
  },
  writesPerMinute: {
    name: 'KRMHUB_WRITES_PER_MINUTE',
    unit: 'requests with one token per minute, 0 for no limit',
    default: '3000',
    why: 'Limit on requests that change data, including dry runs, so that one script cannot block others. The default allows 1,000 publishes without a delay.',
  },
  failedLoginsPerMinute: {
    name: 'KRMHUB_FAILED_LOGINS_PER_MINUTE',
    unit: 'rejected tokens and sign-ins of one client address, and wrong codes of one user, per minute, 0 for no limit',
    default: '60',
    why: 'Above the limit, failed logins get status 429. Valid tokens always work, so that a program with an old token does not block others behind its address.',
  },
  repositoryMebibytes: {
    name: 'KRMHUB_REPOSITORY_MEBIBYTES',
    unit: 'mebibytes per artifact repository, 0 for no limit',
    default: '0',
    why: 'Limit on the blobs, manifests, and open uploads of one repository. The registry rejects a push above the limit. The artifacts of releases and snapshots do not count.',
  },
  untaggedDays: {
    name: 'KRMHUB_UNTAGGED_DAYS',
    unit: 'days after the push, 0 for never',
    default: '0',
    why: 'Age at which the registry deletes an untagged manifest, unless a retained index or subject uses it. Set it if tags such as `latest` move often. Clients can pin an untagged manifest by digest, so the default deletes nothing. The registry never deletes releases and snapshots.',
  },
  trustedRoot: {
    name: 'KRMHUB_TRUSTED_ROOT',
    unit: 'file',
    default: 'the public sigstore instance, with the root that krmhub includes',
    why: 'The `trusted_root.json` of the sigstore instance to trust for keyless signatures: its certificates, logs, and timestamp authorities. The registry reads it at startup and never downloads it.',
  },
  snapshotValidDays: {
    name: 'KRMHUB_SNAPSHOT_VALID_DAYS',
    unit: 'days, 0 to 3650',
    default: '30',
    why: 'Validity of a snapshot signature, which states that the snapshot is the newest of its catalog. The registry renews it after half of this time. When it expires, clients reject old copies and registries that were down for too long.',
  },
  catalogRestoreDays: {
    name: 'KRMHUB_CATALOG_RESTORE_DAYS',
    unit: 'days after the deletion, 0 to 3650',
    default: String(DEFAULT_RESTORE_DAYS),
    why: 'How long an administrator can restore a deleted catalog. Then the registry deletes its data. A later change of this setting applies only to later deletions. The name stays reserved.',
  },
  auditDays: {
    name: 'KRMHUB_AUDIT_DAYS',
    unit: 'days, 0 for no limit',
    default: '400',
    why: 'How long the registry stores the rows of the audit log. Once a day, it deletes older rows. See [Read the audit log](audit.md).',
  },
  maxTokenDays: {
    name: 'KRMHUB_MAX_TOKEN_DAYS',
    unit: 'days, 1 to 3650',
    default: '3650',
    why: 'Longest time until a new token expires. The registry rejects a request for a longer time. It does not apply to the first administrator token, which the registry creates. Existing tokens stay valid.',
  },
  maxUsers: {
    name: 'KRMHUB_MAX_USERS',
    unit: 'users, 0 for no limit',
    default: '100000',
    why: 'How many users of each identity provider can sign in. The registry stores a row for each, and with a provider that is open to anybody, anybody can add rows. A new user is refused at the limit, and the log says so; known users still sign in. Suspended users do not count, and neither do users whom a directory manages, which has a limit of its own.',
  },
  oidcConfirmDays: {
    name: 'KRMHUB_OIDC_CONFIRM_DAYS',
    unit: 'days, 0 to 3650',
    default: '30',
    why: 'How long the personal tokens of a user work after the provider or the directory last confirmed the user, where the registry cannot ask the provider again. The groups of the user at the provider can be different since then. With 0, they work for an hour. See [Sign in with an identity provider](sign-in.md#how-long-personal-tokens-work).',
  },
  shutdownDelaySeconds: {
    name: 'KRMHUB_SHUTDOWN_DELAY_SECONDS',
    unit: 'seconds, 0 to 300',
    default: '0',
    why: 'How long the registry continues to serve requests after SIGTERM. During this time, `/readyz` fails, and responses close their connection. Set it to the time that a load balancer in front of several processes needs to notice that.',
  },
  sourceAddresses: {
    name: 'KRMHUB_SOURCE_ADDRESSES',
    unit: 'addresses and CIDR ranges, separated by commas',
    default: 'none',
    why: 'Private addresses from which recipes can fetch catalogs. The registry rejects all other private addresses, such as this machine, private networks, and cloud metadata services, also after name resolution. This protects internal services from recipe authors.',
  },
  dnsServers: {
    name: 'KRMHUB_DNS_SERVERS',
    unit: 'IP addresses, with or without a port, separated by commas',
    default: 'those of the system',
    why: 'Name servers that the registry asks for the proofs of owners of groups. Set it if the system uses a name server that an owner of a group could influence.',
  },
  sourceFolder: {
    name: 'KRMHUB_SOURCE_FOLDER',
    unit: 'folder',
    default: 'none; `file:` sources are rejected',
    why: 'Folder of the catalogs for `file:` URLs in recipes. The registry does not read files outside this folder.',
  },
  sourceCredentials: {
    name: 'KRMHUB_SOURCE_CREDENTIALS',
    unit: 'file',
    default: 'none',
    why: 'JSON file of credentials for upstream catalogs, by origin: `{"https://host": {"token": "…"}}` or `{"username": "…", "password": "…"}`. The registry sends credentials only to their origin. It also sends them to the token service of an OCI registry with the same host and port, of Docker Hub or GitLab.com, or with an origin in the list `tokenServices` of the credentials. The registry reads the file each time. Only its owner can have access to it.',
  },
  securityContact: {
    name: 'KRMHUB_SECURITY_CONTACT',
    unit: '`mailto:`, `https:`, and `tel:` URIs, separated by commas',
    default: 'none; there is no `/.well-known/security.txt`',
    why: 'Whom to tell about security problems of this registry. `/.well-known/security.txt` (RFC 9116) has it.',
  },
  executables: {
    name: 'KRMHUB_EXECUTABLES',
    unit: 'folder',
    default: '`build/executables` in the folder of the program',
    why: 'Folder of the executables of krmhub that `/install` offers, with their `checksums.txt`, as `npm run package -- --executables` writes them. The registry offers only files of its own version whose digest is in that list. See [Install the command line](install.md#offer-executables).',
  },
  oidcIssuer: {
    name: 'KRMHUB_OIDC_ISSUER',
    unit: 'https URL',
    default: 'none; users sign in with tokens only',
    why: 'Identity provider with which users sign in on the pages (OpenID Connect). Write its issuer as the provider does, with or without a slash at the end. It can have an internal address. `KRMHUB_PUBLIC_URL` is required, and the redirect URI of the client is that URL with `/sign-in/callback`. See [Sign in with an identity provider](sign-in.md).',
  },
  oidcClientId: {
    name: 'KRMHUB_OIDC_CLIENT_ID',
    unit: 'text',
    default: 'none',
    why: 'ID that the provider gave to this registry.',
  },
  oidcClientSecret: {
    name: 'KRMHUB_OIDC_CLIENT_SECRET',
    unit: 'text',
    default: 'none',
    why: 'Secret that the provider gave to this registry.',
  },
  oidcClientSecretFile: {
    name: 'KRMHUB_OIDC_CLIENT_SECRET_FILE',
    unit: 'file',
    default: 'none',
    why: 'File with that secret, instead of the setting. The registry reads it at startup.',
  },
  oidcScopes: {
    name: 'KRMHUB_OIDC_SCOPES',
    unit: 'scopes, separated by spaces',
    default: '`openid profile email`, and `offline_access` if the provider lists it',
    why: 'What the registry asks the provider for. Some providers have a scope for groups.',
  },
  oidcGroupsClaim: {
    name: 'KRMHUB_OIDC_GROUPS_CLAIM',
    unit: 'claim',
    default: 'groups',
    why: 'Claim with the groups of a user, which teams name as `ssoGroup`. It is a string or a list of strings, in the ID token or in the response of the userinfo endpoint.',
  },
  oidcSubjectClaim: {
    name: 'KRMHUB_OIDC_SUBJECT_CLAIM',
    unit: 'claim',
    default: 'sub',
    why: 'Claim of the ID token that identifies a user for ever, for example `oid` with Microsoft Entra ID. With another claim, all users are new ones.',
  },
  oidcName: {
    name: 'KRMHUB_OIDC_NAME',
    unit: 'at most 40 characters',
    default: 'the host of the issuer',
    why: 'Name of the provider on the button.',
  },
  oidcFile: {
    name: 'KRMHUB_OIDC_FILE',
    unit: 'file',
    default: 'none',
    why: 'YAML list of several providers, instead of the settings of one. Each has the fields `issuer`, `clientId`, `clientSecret` or `clientSecretFile`, `scopes`, `groupsClaim`, `subjectClaim`, and `name`. The groups that teams name without an issuer are of the first one, and the others have the redirect URI `/sign-in/NAME/callback`. The registry reads the file at startup.',
  },
  logLevel: {
    name: 'KRMHUB_LOG_LEVEL',
    unit: LOG_LEVELS.join(', '),
    default: 'info',
    why: 'Lowest level of the log. Log lines are JSON on stdout.',
  },
} as const satisfies Record<string, Setting>;

export type SettingName = keyof typeof SETTINGS;
export type ConfigOverrides = Partial<Record<SettingName, string>>;
