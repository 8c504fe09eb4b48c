import {
  describeSigner,
  describeTests,
  isSound,
  type TestReport,
  testReportLabel,
  testReportText,
} from '@krmhub/catalog';
import { DefinitionList } from '../parts/definition-list.js';
import { Digest } from '../parts/digest.js';
import { Label, type Tone } from '../parts/label.js';
import { ShortSigner } from '../parts/signer.js';
import { Text } from '../parts/text.js';
import { Time } from '../parts/time.js';
import { sentence } from '../sentence.js';
import { visibleText } from '../visible-text.js';
import { PolicyLink } from './policy-link.js';

/** Maximum length of the line about a report, which names tests and signers. */
const MAX_TEXT = 1_000;

/** Shows the first report: the result, who reports it, and when. */
export function TestSummary({ reports }: { reports: readonly TestReport[] }) {
  const [first, ...others] = reports;
  if (first === undefined) return null;
  const { signer, verdict, at } = first;
  return (
    <>
      <ReportLabel report={first} /> reported by <ShortSigner value={describeSigner(signer)} />
      {', '}
      <Time at={at} />
      <PolicyLink name={verdict.policy} />
      {others.length === 0 ? null : <span class="quiet"> and {others.length} more</span>}
    </>
  );
}

/** Lists the newest report of each tester. */
export function TestReports({ reports }: { reports: readonly TestReport[] }) {
  if (reports.length === 0) return null;
  return (
    <>
      <h3 id="tests">Tests</h3>
      <ul class="signatures">
        {reports.map((report) => (
          <li>
            <p>
              <ReportLabel report={report} />
            </p>
            <div class="signature-words">
              <Text value={sentence(testReportText(report))} max={MAX_TEXT} />
              {report.verdict.policy === undefined ? null : (
                <p>
                  Signers: <PolicyLink name={report.verdict.policy} />
                </p>
              )}
              <Facts report={report} />
            </div>
          </li>
        ))}
      </ul>
      <p class="quiet">
        A signer reports that these tests ran on this release. The registry verified the signer, and did not
        run the tests.
      </p>
    </>
  );
}

function ReportLabel({ report }: { report: TestReport }) {
  const { tests, verdict } = report;
  const title = isSound(verdict) ? describeTests(tests) : testReportText(report);
  return (
    <Label tone={reportTone(report)} title={visibleText(title)}>
      {testReportLabel(report)}
    </Label>
  );
}

function Facts({ report: { signer, at, bundle } }: { report: TestReport }) {
  return (
    <DefinitionList
      items={[
        ['Key', signer.type === 'key' ? <Digest value={signer.fingerprint} /> : undefined],
        ['Identity', signer.type === 'identity' ? <Text value={signer.subject} max={500} /> : undefined],
        ['Issuer', signer.type === 'identity' ? <Text value={signer.issuer} max={500} /> : undefined],
        ['Reported', <Time at={at} />],
        ['Bundle', <Digest value={bundle} />],
      ]}
    />
  );
}

/** Only a report that a policy trusts is good news; a failure is shown even from a signer that no policy covers. */
export function reportTone({ tests, verdict }: TestReport): Tone {
  if (!isSound(verdict) || tests.result === 'failed') return 'danger';
  if (tests.result === 'warned') return 'warning';
  return verdict.state === 'verified' ? 'good' : 'plain';
}
