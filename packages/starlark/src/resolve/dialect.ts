/** Features of the language that a host allows or not. */
export interface Dialect {
  /** The built-in function `set`. */
  set: boolean;
  /** `while` loops. */
  while: boolean;
  /** Functions that call themselves, directly or not. */
  recursion: boolean;
  /** More than one assignment to a global name. */
  globalReassign: boolean;
  /** `if`, `for` and `while` outside of functions. */
  topLevelControl: boolean;
  /** `load` binds global names, which a program that loads this one sees. Old programs need it. */
  loadBindsGlobally: boolean;
}

/** The specification's own language, with sets: each run ends, and a global name has one value. */
export const DEFAULT_DIALECT: Readonly<Dialect> = {
  set: true,
  while: false,
  recursion: false,
  globalReassign: false,
  topLevelControl: false,
  loadBindsGlobally: false,
};

/** All features that allow more programs. */
export const PERMISSIVE_DIALECT: Readonly<Dialect> = {
  set: true,
  while: true,
  recursion: true,
  globalReassign: true,
  topLevelControl: true,
  loadBindsGlobally: false,
};
