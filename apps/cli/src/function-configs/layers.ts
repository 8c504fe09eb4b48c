import type { CatalogReference } from '@krmhub/consume/references/parse-catalog';
import type { FunctionRequest } from '@krmhub/consume/resolve/resolution';
import type { InlineRuntime } from '@krmhub/functions/plan/declared-runtime';
import type { JsonObject } from '@krmhub/schema/definition';
import type { Path, Position } from '@krmhub/schema/diagnostic';

/** Where a functionConfig is used, in the order in which they run. */
export const FUNCTION_FIELDS = [
  'generators',
  'transformers',
  'mutators',
  'validators',
  'modules',
  /** A file that is named by itself, or found in a folder. */
  'files',
] as const;
export type FunctionField = (typeof FUNCTION_FIELDS)[number];

/** A functionConfig that a layer uses, and what its function is resolved by. */
export interface ListedFunction {
  request: FunctionRequest;
  /** Of its metadata. */
  name?: string;
  /** Absolute path of the file that contains the functionConfig; of the kustomization, for one inside it. */
  file: string;
  /** One-based, of the functionConfig in that file. */
  line: number;
  column: number;
  /** Addresses of `file` and `layer` if they were fetched: their paths are temporary. */
  address?: string;
  layerAddress?: string;
  /** Absent for one that is not a document. */
  config?: {
    value: JsonObject;
    /** Returns where a value or a key of it is in the file. */
    positionOf: (path: Path, target?: 'key' | 'value') => Position | undefined;
    /** Returns an integer as it is written. */
    exact: (path: Path) => bigint | undefined;
  };
  /** Index of its document: of the file, or of the text inside a kustomization. */
  document: number;
  /** The functionConfig inside its document: empty, or `items` and an index for an item of a List. */
  path: Path;
  field: FunctionField;
  /** The item of the list `field` that names it, and its text. Absent for a file that no list names. */
  entry?: { index: number; text: string };
  /** The document is the text of the entry, not a file. */
  inline: boolean;
  /** Folder of the kustomization, Composition or Kptfile that uses it. */
  layer: string;
  /** Of a Kptfile: the image or executable that it has now. */
  written?: InlineRuntime;
  /** Of a Composition: its index in `modules` of the layer. */
  module?: number;
  /** It is not marked as a functionConfig: it is one only if a catalog has its kind. */
  isCandidate?: boolean;
}

/** What a layer is for: `configs` is a kustomization whose resources are functionConfigs of the layer above. */
export type LayerUse = 'package' | 'base' | 'component' | 'configs' | 'subpackage';

export type LayerType = 'kustomization' | 'component' | 'composition' | 'kptfile' | 'folder';

/** A kustomization, Composition or Kptfile with what it uses itself, and those that it is built on. */
export interface Layer {
  /** Absolute, with links resolved. */
  folder: string;
  /** Absolute path of the file that declares it; the folder, for a plain folder. */
  file: string;
  type: LayerType;
  use: LayerUse;
  /** The list for which it makes functionConfigs. */
  configsOf?: FunctionField;
  /** URL of the remote base that it is in. */
  remote?: string;
  /** Those that it names itself, in order. It sees no others, except those of the command line. */
  catalogs: CatalogReference[];
  /** In the order in which they run. */
  functions: ListedFunction[];
  /** Bases, components, and kustomizations of functionConfigs, in order; subpackages of a Kptfile. */
  layers: Layer[];
  /** Of a Kptfile: it runs before its subpackages, level by level. */
  isBreadthFirst?: boolean;
  /** Absolute paths of the files that the `resources` of a kustomization name. */
  resources: string[];
  /**
   * Of a Composition: all modules in the order in which they run, those of kustomize itself too, after the overrides of
   * each Composition that imports them.
   */
  modules?: JsonObject[];
}

/** What a remote entry names, on this machine for a while. */
export interface FetchedRemote {
  /** The folder of a base, or a file. */
  path: string;
  /** Of a base: the folder of its whole repository. */
  root?: string;
}

export interface ReadLayersOptions {
  /**
   * Fetches what a remote entry names. Without it, remote entries are problems. `namedBy` is the URL of the remote base
   * that names it.
   */
  fetchRemote?: (url: string, namedBy?: string) => Promise<FetchedRemote>;
  /** Files may be outside of the folder of their kustomization, as with kustomize's `LoadRestrictionsNone`. */
  anyFile?: boolean;
  /** In a plain folder: list every document that could be a functionConfig as a candidate. */
  all?: boolean;
  /** Also read the Kptfile of a folder with a kustomization or Composition: kpt renders what kustomize builds then. */
  withKptfile?: boolean;
  /** Where an image of a Kptfile without a registry is. Default: that of kpt. */
  imagePrefix?: string;
  /** What to read in a folder with several. Default: the kustomization, else the Composition, else the Kptfile. */
  type?: 'kustomization' | 'composition' | 'kptfile' | 'folder';
}

/** The functions of a layer and of all layers below it, in the order in which kustomize and kpt run them. */
export function listFunctions(layer: Layer): ListedFunction[] {
  if (layer.isBreadthFirst === true) {
    const order = [layer];
    for (const one of order) order.push(...one.layers);
    return order.flatMap((one) => listFunctions({ ...one, isBreadthFirst: false, layers: [] }));
  }
  const below = (isWanted: (one: Layer) => boolean) =>
    layer.layers.filter(isWanted).flatMap((one) => {
      const listed = listFunctions(one);
      // A Kptfile names no catalogs.
      return layer.catalogs.length === 0 || one.type === 'kptfile' ? listed : listed.map(belowCatalogs);
    });
  const used = (field: FunctionField) => [
    ...below((one) => one.configsOf === field),
    ...layer.functions.filter((one) => one.field === field),
  ];
  const [generators, ...later] = FUNCTION_FIELDS;
  return [
    ...below(({ use }) => use !== 'configs' && use !== 'component'),
    ...used(generators),
    ...below(({ use }) => use === 'component'),
    ...later.flatMap(used),
  ];
}

function belowCatalogs(listed: ListedFunction): ListedFunction {
  const { request } = listed;
  return request.catalogs.length > 0 ? listed : { ...listed, request: { ...request, isBelowCatalogs: true } };
}
