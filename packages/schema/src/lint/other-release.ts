import { sharedImageRelease } from '../convert/image-release.js';
import type { Path } from '../diagnostics/diagnostic.js';
import { quote } from '../diagnostics/quote.js';
import { listVersions, objectField, textField } from '../json/access.js';
import type { Rule } from './rule.js';

/**
 * Returns a rule for a definition that is to be this release, which its file cannot say: its images must not have the
 * tag of another one, which users would take for this one.
 */
export function otherRelease(release: string): Rule {
  return (draft, report) => {
    const images = listVersions(draft.spec).flatMap(({ version, path }): { image: string; path: Path }[] => {
      const image = textField(objectField(objectField(version, 'runtime'), 'container'), 'image');
      return image === undefined ? [] : [{ image, path: [...path, 'runtime', 'container', 'image'] }];
    });
    const named = sharedImageRelease(images.map(({ image }) => image));
    if (named === undefined || named === release) return;
    const { image, path } = images[0]!;
    report(
      'image/other-release',
      path,
      `the image ${quote(image)} is of the release ${named}, not of ${release}`,
    );
  };
}
