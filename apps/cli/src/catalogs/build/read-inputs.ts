import path from 'node:path';
import { readCatalogInputs, readInputsEntry } from '@krmhub/api/export-client';
import type { CatalogInputs, CatalogInputsEntry } from '@krmhub/api/export-model';
import {
  AccessRules,
  type BuildInputs,
  type BuildSource,
  catalogReaders,
  entryFacts,
  followsRegistryPolicies,
  type KnownEntry,
  RECIPE_LIMITS,
  type Recipe,
  readAccess,
  readRecipe,
  readSigningPolicies,
  readUpstreamCatalog,
  renderEntry,
  type SourceSignature,
  type UpstreamCatalog,
} from '@krmhub/catalog';
import { type Digest, KrmhubError, type ReportedSource, sha256 } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { DOCUMENT_LIMITS } from '@krmhub/schema/limits';
import { escapeControls, shellWord } from '@krmhub/schema/text';
import type { Io } from '../../io/io.js';
import { parseSigner } from './build-function.js';
import { INPUT_FILES, InputsFolder } from './inputs-folder.js';
import { readFunctionLines } from './read-registry.js';

/** Bytes of inputs.json. */
const MAX_INPUTS = 33_554_432;

/** An export of `krmhub catalog inputs`. */
export interface ReadInputs {
  recipe: Recipe;
  inputs: BuildInputs;
  /** The snapshot of the registry. */
  snapshot: NonNullable<CatalogInputs['snapshot']>;
  /** Bytes of its snapshot.json. */
  document: Uint8Array;
}

/** Reads an export and verifies its digests. Uses no network. */
export async function readInputs(io: Io, name: string): Promise<ReadInputs> {
  const folder = new InputsFolder(path.resolve(io.cwd, name));
  const inputs = await readHead(folder, name);
  const { snapshot } = inputs;
  const exported = { name, catalog: inputs.catalog };
  if (snapshot === undefined) throw damagedError(exported, `${INPUT_FILES.inputs} has no snapshot`);
  const recipe = await readExportedRecipe(folder, exported, inputs);
  const known = new Map<string, CatalogInputsEntry[]>();
  for await (const line of folder.lines('entries')) {
    const entry = readInputsEntry(line, folder.path('entries'));
    const entries = known.get(entry.source) ?? [];
    entries.push(entry);
    known.set(entry.source, entries);
  }
  const sources = new Map<string, BuildSource>();
  for (const { name: source, catalog } of recipe.sources) {
    if (catalog === undefined) continue;
    const stored = inputs.sources.find((one) => one.source === source);
    const missing = { source, url: catalog.url, state: 'missing' as const, signatures: [] };
    sources.set(
      source,
      await readCopy(folder, exported, catalog, stored ?? missing, known.get(source) ?? []),
    );
  }
  return {
    recipe,
    inputs: {
      clock: inputs.clock,
      functions: await readFunctionLines(folder.lines('functions'), {
        where: folder.path('functions'),
        hint: exportHint(exported),
      }),
      sources,
      ...readPolicies(exported, recipe, inputs),
      ...readRules(exported, inputs),
    },
    snapshot,
    document: await folder.read(folder.path('snapshot'), DOCUMENT_LIMITS.maxCatalogBytes),
  };
}

async function readHead(folder: InputsFolder, name: string): Promise<CatalogInputs> {
  const file = folder.path('inputs');
  try {
    return readCatalogInputs(await folder.read(file, MAX_INPUTS), file);
  } catch (error) {
    if (!(error instanceof KrmhubError) || error.code !== 'not-found') throw error;
    throw new KrmhubError('not-found', `cannot read inputs from ${name}: no ${INPUT_FILES.inputs}`, {
      hint: escapeControls(`Export the inputs: krmhub catalog inputs NAME --out ${shellWord(name)}`),
      cause: error,
    });
  }
}

/** An export, as the user names its folder, and its catalog. */
interface Exported {
  name: string;
  catalog: string;
}

async function readExportedRecipe(
  folder: InputsFolder,
  exported: Exported,
  { recipe }: CatalogInputs,
): Promise<Recipe> {
  const bytes = await folder.read(folder.path('recipe'), RECIPE_LIMITS.maxBytes);
  if (!Buffer.from(recipe).equals(bytes)) {
    throw damagedError(exported, `${INPUT_FILES.recipe} differs from the exported recipe`);
  }
  const read = readRecipe(bytes, INPUT_FILES.recipe);
  if (read.recipe !== undefined) return read.recipe;
  throw new KrmhubError('invalid-document', `recipe ${INPUT_FILES.recipe} in ${exported.name} is not valid`, {
    diagnostics: read.diagnostics,
  });
}

/** Returns the signing policies of the registry, if the recipe requires what they require. */
function readPolicies(
  exported: Exported,
  recipe: Recipe,
  { policies: text }: CatalogInputs,
): Pick<BuildInputs, 'policies'> {
  if (!followsRegistryPolicies(recipe)) return {};
  if (text === undefined) throw damagedError(exported, `${INPUT_FILES.inputs} has no signing policies`);
  const { policies, diagnostics } = readSigningPolicies(new TextEncoder().encode(text), INPUT_FILES.inputs);
  if (policies !== undefined) return { policies };
  throw new KrmhubError('invalid-document', `the signing policies in ${exported.name} are not valid`, {
    diagnostics,
  });
}

/** Returns the access rules of the registry, if it hides anything. */
function readRules(exported: Exported, { access, catalog }: CatalogInputs): Pick<BuildInputs, 'mayContain'> {
  if (access?.document === undefined) return {};
  const read = readAccess(new TextEncoder().encode(access.document), INPUT_FILES.inputs);
  if (read.access !== undefined) {
    return { mayContain: catalogReaders(new AccessRules(read.access, access.claims), catalog) };
  }
  throw new KrmhubError('invalid-document', `the Access document in ${exported.name} is not valid`, {
    diagnostics: read.diagnostics,
  });
}

type ExportedSource = CatalogInputs['sources'][number];

async function readCopy(
  folder: InputsFolder,
  exported: Exported,
  upstream: UpstreamCatalog,
  { size: _, signatures, digest, ...rest }: ExportedSource,
  known: readonly CatalogInputsEntry[],
): Promise<BuildSource> {
  const { source } = rest;
  const reported = { ...rest, invalid: [], invalidEntries: 0 } as ReportedSource;
  const refuse = (what: string) => damagedError(exported, `source ${source}: ${what}`);
  const former = known
    .filter(({ goneAt }) => goneAt !== undefined)
    .map((one) => readFormerEntry(one, refuse));
  const common = { former, signatures: signatures.map((one) => parseSignature(one, refuse)) };
  if (digest === undefined) return { ...common, entries: [], reported };
  const bytes = await folder.read(folder.copyPath(source), DOCUMENT_LIMITS.maxCatalogBytes);
  if (sha256(bytes) !== digest) throw refuse(`its copy does not match the digest ${digest}`);
  const read = readUpstreamCatalog(bytes, source, upstream);
  if ('problem' in read) throw refuse(`its copy is not a catalog: ${read.problem}`);
  const seen = new Map(known.filter(({ goneAt }) => goneAt === undefined).map((one) => [entryKey(one), one]));
  const { entries: present, ...found } = read;
  const entries = present.map(({ facts, rendered: { json } }): KnownEntry => {
    const entry = seen.get(entryKey(facts));
    if (entry === undefined) {
      throw refuse(`${facts.group}/${facts.kind} differs from the entry that the registry exported`);
    }
    return { facts, json, firstSeen: entry.firstSeen };
  });
  if (entries.length !== seen.size)
    throw refuse('entries that the registry exported are missing in its copy');
  return { ...common, entries, reported: { ...reported, digest: digest as Digest, ...found } };
}

function readFormerEntry(
  { group, kind, definition, firstSeen, goneAt, entry }: CatalogInputsEntry,
  refuse: (what: string) => KrmhubError,
): KnownEntry {
  const what = `${group}/${kind} ${definition}`;
  if (entry === undefined || goneAt === undefined) throw refuse(`former entry ${what} is missing`);
  try {
    const { digest, json } = renderEntry(entry);
    if (digest !== definition) throw refuse(`former entry ${what} does not match its digest`);
    return { facts: entryFacts(entry, digest), json, firstSeen, goneAt };
  } catch (error) {
    throw error instanceof TypeError ? refuse(`former entry ${what} cannot be rendered`) : error;
  }
}

function parseSignature(
  { signer, signedAt, receivedAt }: ExportedSource['signatures'][number],
  refuse: (what: string) => KrmhubError,
): SourceSignature {
  const read = parseSigner(signer);
  if (read === undefined) throw refuse('a signer is neither a key nor an identity');
  return { signer: read, ...defined({ signedAt }), receivedAt };
}

function entryKey({ group, kind, definition }: { group: string; kind: string; definition: string }): string {
  return `${group}/${kind} ${definition}`;
}

function damagedError(exported: Exported, what: string): KrmhubError {
  return new KrmhubError('invalid-document', `the inputs in ${exported.name} are corrupt: ${what}`, {
    hint: exportHint(exported),
  });
}

function exportHint({ name, catalog }: Exported): string {
  return escapeControls(
    `Export them again: krmhub catalog inputs ${shellWord(catalog)} --out ${shellWord(name)}`,
  );
}
