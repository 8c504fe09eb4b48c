import type { AccessResult } from '@krmhub/api/model';
import {
  type AccessDocument,
  AccessRules,
  type AccessStore,
  type CatalogReader,
  COMPARISON_LIMITS,
  compareAccess,
  type KnownNames,
  type OwnerClaimStore,
  readAccess,
  type SourceReader,
  type TokenStore,
  tokenActor,
} from '@krmhub/catalog';
import type { ManifestReader } from '@krmhub/oci';
import { type Diagnostic, KrmhubError } from '@krmhub/schema';
import type { WakeableBuilder } from '../catalogs/build/catalog-builder.js';
import { exposedFunctions } from '../catalogs/exposed-functions.js';
import type { Caller } from '../http/auth/caller.js';
import { tokenProblem } from '../http/auth/tokens.js';
import { repositoryObject } from '../store/sight.js';
import type { RegistryAccess } from '../store/stored-access.js';
import type { FunctionLocks } from './function-locks.js';
import { refuseOtherText, replaceDocument } from './replace-document.js';

export interface ApplyAccessDeps {
  store: AccessStore &
    Pick<OwnerClaimStore, 'ownerClaims'> &
    Pick<TokenStore, 'tokens'> &
    Pick<CatalogReader, 'catalogs' | 'includedFunctions'> &
    Pick<SourceReader, 'ownedGroups'> &
    Pick<ManifestReader, 'repositories'>;
  access: RegistryAccess;
  /** Serializes the changes of the document. */
  functionLocks: FunctionLocks;
  snapshotBuilder: WakeableBuilder;
  clock: () => Date;
}

const WORDS = { what: 'the Access document', show: 'krmhub access show' };

/** Repositories that a comparison reads at a time. */
const REPOSITORY_PAGE = 1_000;

/** Reads an Access document. Throws `invalid-document` with its diagnostics. */
export function readAccessBytes(bytes: Uint8Array): {
  text: string;
  document: AccessDocument;
  diagnostics: Diagnostic[];
} {
  const { access: document, diagnostics } = readAccess(bytes, 'access.yaml');
  if (document === undefined) {
    throw new KrmhubError('invalid-document', 'invalid Access document', { diagnostics });
  }
  const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  return { text, document, diagnostics };
}

/**
 * Replaces the Access document, and reports who gains and loses what; `dryRun` only reports. `replaces` is the digest of
 * the text that the caller knows: another one is a `conflict`.
 */
export async function applyAccess(
  deps: ApplyAccessDeps,
  { text, document }: { text: string; document: AccessDocument },
  { by, origin, dryRun, replaces }: Caller & { dryRun: boolean; replaces?: string | undefined },
): Promise<Omit<AccessResult, 'diagnostics'>> {
  const { store, access, clock } = deps;
  const stored = await store.access();
  refuseOtherText(WORDS, stored, replaces);
  if (stored?.text === text)
    return { outcome: 'unchanged', dryRun, changes: [], count: 0, exposed: [], exposedCount: 0 };
  const before = access.rules;
  const now = clock().toISOString();
  const usable = (await store.tokens()).filter((token) => tokenProblem(token, now) === undefined);
  const after = new AccessRules(document, before.claims);
  const compared = compareAccess(before, after, {
    tokens: usable.map(tokenActor),
    names: await existingNames(store),
  });
  const exposed = await exposedFunctions(store, before, after);
  if (!dryRun) {
    const reason = `${document.teams.length} teams, ${document.groups.length} group rules`;
    const change = { text, at: now, by, origin, event: { type: 'access.applied', reason } } as const;
    await replaceDocument(WORDS, stored, change, (applied) => store.applyAccess(applied));
    await access.reload(store);
    // Catalogs contain only what their readers may read.
    deps.snapshotBuilder.wake();
  }
  return {
    outcome: 'changed',
    dryRun,
    ...compared,
    exposed: exposed.slice(0, COMPARISON_LIMITS.maxExposed),
    exposedCount: exposed.length,
  };
}

async function existingNames(store: ApplyAccessDeps['store']): Promise<KnownNames> {
  const repositories: string[] = [];
  for (let after = ''; ; ) {
    const page = await store.repositories(after, REPOSITORY_PAGE);
    repositories.push(...page);
    if (page.length < REPOSITORY_PAGE) break;
    after = page.at(-1)!;
  }
  // Others follow a function or a catalog.
  const isOwn = (name: string) => 'repository' in repositoryObject(name);
  return {
    groups: [...(await store.ownedGroups())],
    catalogs: (await store.catalogs()).map(({ name }) => name),
    repositories: repositories.filter(isOwn),
  };
}
