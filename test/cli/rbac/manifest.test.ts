import { expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { rulesOf, toManifests, toValues } from '../../../src/cli/rbac/manifest.ts'
import { permissionsNeeded } from '../../../src/cli/rbac/permissions.ts'

const serviceAccount = { namespace: 'kubeherald', name: 'kubeherald' }

/** U+0085, U+2028 and U+2029 end a line for the YAML of kubectl and Helm. */
test.each(['\n', '\r', '\u0085', '\u2028', '\u2029'])(
  'a line break %j in a name of a file or a kind ends no comment',
  (lineBreak) => {
    const hostile = `a${lineBreak}evil: 1`
    const rules = rulesOf(
      permissionsNeeded({
        watches: [
          { index: 0, kind: hostile, group: '', resource: 'pods', custom: false, namespaces: undefined },
        ],
      }),
    )
    const printed = [
      toManifests(rules, { name: 'kubeherald', serviceAccount, heading: [hostile] }),
      toValues(rules, [hostile]),
    ]
    for (const text of printed) {
      expect(text).not.toMatch(/[\r\u0085\u2028\u2029]/)
      for (const line of text.split('\n').filter((it) => it.includes('evil')))
        expect(line).toMatch(/^ *# .*a evil: 1$/)
      for (const document of parseAllDocuments(text)) expect(document.toJS()).not.toHaveProperty('evil')
    }
  },
)
