// node deploy/release/latest.mjs TAG < TAGS   Prints latest=true, or latest=false when one of these tags, one a line, is a higher version.
// Exit code 1 when TAG is not among them: the list is not that of the repository.
import { readFileSync } from 'node:fs'

const tag = process.argv[2] ?? ''
const tags = readFileSync(0, 'utf8')
  .split('\n')
  .filter((it) => /^v\d+\.\d+\.\d+$/.test(it))
if (!tags.includes(tag)) {
  console.error(`release ${tag}: it is not in the list of tags`)
  process.exit(1)
}
const [highest] = tags.toSorted((a, b) => b.localeCompare(a, 'en', { numeric: true }))
console.log(`latest=${tag === highest}`)
