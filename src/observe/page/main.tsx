import './style/base.css'
import './style/shell.css'
import './style/parts.css'
import './style/story.css'
import './style/live.css'
import './style/views.css'
import './style/narrow.css'
import { render } from 'preact'
import { applyTheme } from './data/theme.ts'
import { Shell } from './shell.tsx'

applyTheme()
const place = document.getElementById('app')
if (place) {
  place.textContent = ''
  render(<Shell />, place)
}
