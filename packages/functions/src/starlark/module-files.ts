/** A file that scripts load, and the names in it. */
export interface ModuleFile {
  names: readonly string[];
  /** Why its use fails. */
  unavailable?: string;
}

const NO_NETWORK = 'functions have no network';
const NOT_HERE = 'krmhub does not have this module';

/** The files that scripts for kpt load, and `struct.star`. Each is also found without `encoding/`. */
export const MODULE_FILES: ReadonlyMap<string, ModuleFile> = new Map(
  [
    ['krmfn.star', { names: ['krmfn'] }] as const,
    ['encoding/json.star', { names: ['json'] }] as const,
    ['encoding/yaml.star', { names: ['yaml'] }] as const,
    ['encoding/base64.star', { names: ['base64'] }] as const,
    ['encoding/csv.star', { names: ['csv'] }] as const,
    ['hash.star', { names: ['hash'] }] as const,
    ['math.star', { names: ['math'] }] as const,
    ['re.star', { names: ['re'] }] as const,
    ['struct.star', { names: ['struct'] }] as const,
    ['time.star', { names: ['time'] }] as const,
    ['bsoup.star', { names: ['bsoup'], unavailable: NOT_HERE }] as const,
    ['geo.star', { names: ['geo'], unavailable: NOT_HERE }] as const,
    ['html.star', { names: ['html'], unavailable: NOT_HERE }] as const,
    ['http.star', { names: ['http'], unavailable: NO_NETWORK }] as const,
    ['xlsx.star', { names: ['xlsx'], unavailable: NOT_HERE }] as const,
    ['zipfile.star', { names: ['ZipFile'], unavailable: NOT_HERE }] as const,
  ].flatMap(([file, module]): [string, ModuleFile][] =>
    file.startsWith('encoding/')
      ? [
          [file, module],
          [file.slice('encoding/'.length), module],
        ]
      : [[file, module]],
  ),
);
