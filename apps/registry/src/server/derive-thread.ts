/** Derives documents from the database and the blobs that another thread of this process serves. */

import { WRITE_PROFILE } from '../catalogs/profiles/write-profile.js';
import {
  CATALOG_REPORT,
  ENTRY_PROFILE,
  SNAPSHOT_DOCUMENT,
  SNAPSHOT_REPORT,
} from '../catalogs/serve/snapshot-documents.js';
import { CONFIG_SCHEMA } from '../routes/functions.js';
import { RELEASE_COMPARISON } from '../routes/release-changes.js';
import { RENOVATE_RELEASES } from '../routes/renovate.js';
import { blobsOfThread } from '../store/blobs/blob-stores.js';
import { blobsIn } from '../store/blobs/folder.js';
import { openThreadStore } from '../store/open-store.js';
import { rowsLast } from '../store/pushed-rows.js';
import { intactFirst } from '../store/release-files.js';
import { PINNED_STATE } from '../web/badge/pinned-state.js';
import { FUNCTION_CARD } from '../web/card/card-document.js';
import { SNAPSHOT_COMPARISON } from '../web/catalog/read-comparison.js';
import { DOCS_PAGE, DOCS_SAMPLES, DOCS_SEARCH } from '../web/docs/docs-document.js';
import { COMPARE_DOCUMENT, FUNCTION_DOCUMENT } from '../web/function/function-document.js';
import { README_IMAGES } from '../web/function/readme-images.js';
import { SCRIPT_REFERENCE } from '../web/function/script-reference.js';
import { PROGRAM_PACKAGE } from '../web/install/program-package.js';
import { API_REFERENCE } from '../web/reference/reference-document.js';
import { TRY_DOCUMENT } from '../web/try/try-document.js';
import type { Derivation, DeriveDeps } from '../workers/derive/derivation.js';
import { type Parent, serveRole } from '../workers/isolation/serve-role.js';
import type { DeriveRole, DeriveThreadInput } from './deriver-thread.js';

const DERIVATIONS: readonly Derivation<never, unknown>[] = [
  CONFIG_SCHEMA,
  RENOVATE_RELEASES,
  FUNCTION_DOCUMENT,
  TRY_DOCUMENT,
  COMPARE_DOCUMENT,
  SCRIPT_REFERENCE,
  README_IMAGES,
  PINNED_STATE,
  FUNCTION_CARD,
  API_REFERENCE,
  DOCS_PAGE,
  DOCS_SAMPLES,
  DOCS_SEARCH,
  PROGRAM_PACKAGE,
  SNAPSHOT_DOCUMENT,
  SNAPSHOT_REPORT,
  CATALOG_REPORT,
  ENTRY_PROFILE,
  WRITE_PROFILE,
  SNAPSHOT_COMPARISON,
  RELEASE_COMPARISON,
];

await serveRole(open, { inBackground: true });

async function open(
  { database, blobSource, profilesFolder, config }: DeriveThreadInput,
  { countStatements }: Parent,
): Promise<DeriveRole> {
  const openPart = await blobsOfThread(blobSource);
  const store = await openThreadStore(database, countStatements);
  const deps: DeriveDeps = {
    store,
    blobs: intactFirst(store, openPart('blobs')),
    artifacts: rowsLast(store, openPart('artifacts')),
    profileBlobs: blobsIn(profilesFolder),
    config,
  };
  return Object.fromEntries(
    DERIVATIONS.map(({ name, derive }) => [name, (input) => derive(deps, input as never)]),
  ) satisfies DeriveRole;
}
