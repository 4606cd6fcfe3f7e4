// node deploy/release/notes.mjs VERSION   What the changelog says of it, on stdout.
import { readText, sectionOf } from './changelog.mjs'

console.log(sectionOf(readText('CHANGELOG.md'), process.argv[2]))
