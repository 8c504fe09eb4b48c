import path from 'node:path';
import { readCatalogInputs, readInputsEntry } from '@krmhub/api/export-client';
import type { CatalogInputs, CatalogInputsEntry } from '@krmhub/api/export-model';
import {
  type BuildInputs,
  type BuildSource,
  entryFacts,
  type KnownEntry,
  RECIPE_LIMITS,
  type Recipe,
  readRecipe,
  readUpstreamCatalog,
  renderEntry,
  type SourceSignature,
} from '@krmhub/catalog';
import { type Digest, KrmhubError, type ReportedSource, sha256 } from '@krmhub/schema';
import { DOCUMENT_LIMITS } from '@krmhub/schema/limits';
import type { Io } from '../../io/io.js';
import { signerOf } from './build-function.js';
import { INPUT_FILES, InputsFolder } from './inputs-folder.js';
import { readFunctionLines } from './read-registry.js';

/** Bytes of inputs.json. */
const MAX_INPUTS = 33_554_432;

/** What `krmhub catalog inputs` has written. */
export interface ReadInputs {
  recipe: Recipe;
  inputs: BuildInputs;
  /** The registry's own. */
  snapshot: NonNullable<CatalogInputs['snapshot']>;
  /** Bytes of its snapshot.json. */
  document: Uint8Array;
}

/** Reads a folder of inputs, and holds everything in it against its digests. No network is used. */
export async function readInputs(io: Io, name: string): Promise<ReadInputs> {
  const folder = new InputsFolder(path.resolve(io.cwd, name));
  const inputs = await readHead(folder, name);
  const { snapshot } = inputs;
  if (snapshot === undefined) throw damaged(name, `${INPUT_FILES.inputs} has no snapshot`);
  const recipe = await recipeIn(folder, name, inputs);
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
    const said = inputs.sources.find((one) => one.source === source);
    const missing = { source, url: catalog.url, state: 'missing' as const, signatures: [] };
    sources.set(source, await readCopy(folder, name, said ?? missing, known.get(source) ?? []));
  }
  return {
    recipe,
    inputs: {
      clock: inputs.clock,
      functions: await readFunctionLines(folder.lines('functions'), folder.path('functions')),
      sources,
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
    throw new KrmhubError('not-found', `${name} holds no inputs: there is no ${INPUT_FILES.inputs}`, {
      hint: 'Write it with `krmhub catalog inputs NAME --out DIR`.',
      cause: error,
    });
  }
}

async function recipeIn(folder: InputsFolder, name: string, { recipe }: CatalogInputs): Promise<Recipe> {
  const bytes = await folder.read(folder.path('recipe'), RECIPE_LIMITS.maxBytes);
  if (!Buffer.from(recipe).equals(bytes)) {
    throw damaged(name, `${INPUT_FILES.recipe} is not the recipe that was exported`);
  }
  const read = readRecipe(bytes, INPUT_FILES.recipe);
  if (read.recipe !== undefined) return read.recipe;
  throw new KrmhubError('invalid-document', `${INPUT_FILES.recipe} is not understood`, {
    diagnostics: read.diagnostics,
  });
}

type SaidSource = CatalogInputs['sources'][number];

async function readCopy(
  folder: InputsFolder,
  name: string,
  { size: _, signatures, digest, ...said }: SaidSource,
  known: readonly CatalogInputsEntry[],
): Promise<BuildSource> {
  const { source } = said;
  const reported = { ...said, invalid: [], invalidEntries: 0 } as ReportedSource;
  const refuse = (what: string) => damaged(name, `the source ${source}: ${what}`);
  const former = known.filter(({ goneAt }) => goneAt !== undefined).map((one) => formerEntry(one, refuse));
  const held = { former, signatures: signatures.map((one) => signature(one, refuse)) };
  if (digest === undefined) return { ...held, entries: [], reported };
  const bytes = await folder.read(folder.copyPath(source), DOCUMENT_LIMITS.maxCatalogBytes);
  if (sha256(bytes) !== digest) throw refuse(`its copy does not have the digest ${digest}`);
  const read = readUpstreamCatalog(bytes, source);
  if ('problem' in read) throw refuse(`its copy is no catalog: ${read.problem}`);
  const seen = new Map(known.filter(({ goneAt }) => goneAt === undefined).map((one) => [keyOf(one), one]));
  const entries = read.entries.map(({ facts, rendered: { json } }): KnownEntry => {
    const entry = seen.get(keyOf(facts));
    if (entry === undefined) {
      throw refuse(
        `${facts.group}/${facts.kind} is read otherwise here than by the registry that wrote this`,
      );
    }
    return { facts, json, firstSeen: entry.firstSeen };
  });
  if (entries.length !== seen.size) throw refuse('entries that the registry has read are not in its copy');
  const { invalid, invalidEntries } = read;
  return { ...held, entries, reported: { ...reported, digest: digest as Digest, invalid, invalidEntries } };
}

function formerEntry(
  { group, kind, definition, firstSeen, goneAt, entry }: CatalogInputsEntry,
  refuse: (what: string) => KrmhubError,
): KnownEntry {
  const what = `${group}/${kind} ${definition}`;
  if (entry === undefined || goneAt === undefined) throw refuse(`the former entry ${what} is not there`);
  try {
    const { digest, json } = renderEntry(entry);
    if (digest !== definition) throw refuse(`the former entry ${what} is another one`);
    return { facts: entryFacts(entry, digest), json, firstSeen, goneAt };
  } catch (error) {
    throw error instanceof TypeError ? refuse(`the former entry ${what} cannot be written`) : error;
  }
}

function signature(
  { signer, signedAt, receivedAt }: SaidSource['signatures'][number],
  refuse: (what: string) => KrmhubError,
): SourceSignature {
  const read = signerOf(signer);
  if (read === undefined) throw refuse('a signer is neither a key nor an identity');
  return { signer: read, ...(signedAt === undefined ? {} : { signedAt }), receivedAt };
}

function keyOf({ group, kind, definition }: { group: string; kind: string; definition: string }): string {
  return `${group}/${kind} ${definition}`;
}

function damaged(name: string, what: string): KrmhubError {
  return new KrmhubError('invalid-document', `the inputs in ${name} are damaged: ${what}`, {
    hint: 'Export them again with `krmhub catalog inputs NAME --out DIR`.',
  });
}
