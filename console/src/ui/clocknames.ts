import { _ } from '../lib/i18n';

// What each of the law's clocks asks for, by its code (docs/clocks.md has their law).
export const clockNames: Record<string, () => string> = {
  'US-DEATH': () => _('Tell OSHA of the death within 8 hours'),
  'US-TREATMENT': () => _('Tell OSHA of the hospital treatment, amputation or lost eye within 24 hours'),
  'FR-DAT': () => _('Declare the accident to the CPAM within 48 hours'),
  'FR-BENIN': () => _('Enter the accident in the register of minor accidents within 48 hours'),
  'FR-WORSE': () => _('Declare the accident that became worse to the CPAM within 48 hours'),
  'FR-DEATH': () => _('Tell the inspector of labour of the death within 12 hours'),
  'FR-RES': () => _('Send reservations to the CPAM, if there are any, within 10 days'),
  'DE-ANZ': () => _('Send the Unfallanzeige within 3 days'),
  'DE-SCHWER': () => _('Tell the Berufsgenossenschaft and the authority of the death at once'),
  'GB-NOTIFY': () => _('Notify HSE or the local authority without delay'),
  'GB-PROC': () => _('Report to HSE or the local authority within 10 days'),
  'GB-7D': () => _('Report the absence of more than 7 days to HSE within 15 days'),
  'GB-1YR': () => _('Tell HSE in writing of the death within a year of the injury'),
};
