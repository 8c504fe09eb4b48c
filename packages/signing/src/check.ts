/** In the order in which they are made. */
export const CHECK_NAMES = [
  'bundle',
  'statement',
  'subject',
  'time',
  'certificate',
  'log',
  'signature',
  'identity',
] as const;
export type CheckName = (typeof CHECK_NAMES)[number];

export interface Check {
  check: CheckName;
  passed: boolean;
  /** What was found, or why it is a refusal. */
  message: string;
}

export function passedCheck(check: CheckName, message: string): Check {
  return { check, passed: true, message };
}

export function failedCheck(check: CheckName, message: string): Check {
  return { check, passed: false, message };
}
