/** What an attestation of a test run says. Policies decide whether its signer is trusted. */
export interface TestSummary {
  result: 'passed' | 'warned' | 'failed';
  /** Number of tests that passed. */
  passed: number;
  warned: number;
  failed: number;
  /** The names of the first failed tests: foreign text. Absent if none failed, or none is named. */
  failedTests?: string[];
  /** RFC 3339 in UTC with milliseconds: when the tests ended, by the clock of the tester. */
  finishedAt?: string;
}
