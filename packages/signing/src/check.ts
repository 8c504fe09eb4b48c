/** Names of the checks, in the order in which they run. */
export const CHECK_NAMES = [
  'bundle',
  'statement',
  'subject',
  'time',
  'certificate',
  'log',
  'signature',
  'identity',
  'name',
  'result',
] as const;
export type CheckName = (typeof CHECK_NAMES)[number];

export interface Check {
  check: CheckName;
  passed: boolean;
  /** The result, or the reason for the failure. */
  message: string;
}

export function passedCheck(check: CheckName, message: string): Check {
  return { check, passed: true, message };
}

export function failedCheck(check: CheckName, message: string): Check {
  return { check, passed: false, message };
}
