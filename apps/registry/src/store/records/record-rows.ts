/**
 * The records of a database, with the same statements in SQLite and in PostgreSQL.
 *
 * @module
 */

import type { NameFinder, SearchStore } from '@krmhub/catalog';
import type { RegistryStore } from '../registry-store.js';
import type { SearchIndex } from '../search/search-index.js';
import type { Sql } from '../sql/sql.js';
import { manifestStore } from './artifacts/artifacts.js';
import { missingArtifacts } from './artifacts/store-artifacts.js';
import { uploadRows } from './artifacts/uploads.js';
import { auditRows } from './audit/audit.js';
import { eventRows } from './events/events.js';
import { consumerRows } from './functions/consumers.js';
import { functionRows } from './functions/functions.js';
import { ownerClaimRows } from './functions/owner-claims.js';
import { policyRows } from './functions/policies.js';
import { missingWords } from './functions/release-words.js';
import { catalogRows } from './snapshots/catalogs.js';
import { profileRows } from './snapshots/profiles.js';
import { servedEntryRows } from './snapshots/served-entries.js';
import { sourceRows } from './sources/sources.js';
import { takedownRows } from './takedowns/takedowns.js';
import { directoryGroupRows } from './tokens/directory-groups.js';
import { directoryUserRows } from './tokens/directory-users.js';
import { loginRows } from './tokens/login-requests.js';
import { sessionRows } from './tokens/sessions.js';
import { settingRows } from './tokens/settings.js';
import { signInRows } from './tokens/sign-ins.js';
import { tokenRows } from './tokens/tokens.js';
import { trustedPublisherRows } from './tokens/trusted-publishers.js';
import { userRows } from './tokens/users.js';

/** What a database stores besides search. Its engine opens, checks, and closes it. */
export type RecordRows = Omit<
  RegistryStore,
  keyof SearchStore | keyof NameFinder | 'durable' | 'check' | 'close'
>;

/** `erase` deletes the bytes of what a takedown deleted. */
export function recordRows(sql: Sql, search: SearchIndex, erase: () => Promise<void>): RecordRows {
  return {
    ...functionRows(sql, search),
    ...servedEntryRows(sql),
    ...eventRows(sql),
    ...auditRows(sql),
    ...catalogRows(sql, search),
    ...sourceRows(sql),
    ...profileRows(sql),
    ...takedownRows(sql, { search, erase }),
    ...tokenRows(sql),
    ...sessionRows(sql),
    ...signInRows(sql),
    ...loginRows(sql),
    ...uploadRows(sql),
    ...settingRows(sql),
    ...policyRows(sql),
    ...ownerClaimRows(sql),
    ...consumerRows(sql),
    ...trustedPublisherRows(sql),
    ...userRows(sql),
    ...directoryUserRows(sql),
    ...directoryGroupRows(sql),
    ...manifestStore(sql),
    ...missingArtifacts(sql),
    ...missingWords(sql, search),
  };
}
