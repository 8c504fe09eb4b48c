import { type Dialect, PERMISSIVE_DIALECT } from '@krmhub/starlark';

/**
 * The dialect of functions: that of kpt, because a third of real scripts loops outside of functions. A script that runs
 * forever is ended by the limit on steps, so nothing is won by forbidding loops.
 */
export const FUNCTION_DIALECT: Readonly<Dialect> = PERMISSIVE_DIALECT;

/** What a script finds besides the language itself. */
export const PREDECLARED = ['ctx'] as const;
