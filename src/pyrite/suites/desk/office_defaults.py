"""What LibreOffice writes of pages of its options that were looked at and confirmed, nothing changed.

Measured in the sandbox: every page of Tools, Options opened, then OK; and what Calc writes as it closes.
"""

from __future__ import annotations

_PAGES = """
Office.Chart/DefaultColor
  Series 17798 16728590 16765728 5741852 8257569 8637183 3227652 11456256 4923247 16749838 12910603 34001
Office.Common/Accessibility
  AutoDetectSystemHC false
  IsAllowAnimatedGraphics true
  IsAllowAnimatedText true
  IsAutomaticFontColor false
  IsForPagePreviews true
  IsSelectionInReadonly false
Office.Common/Filter/Adobe/Import
  PDFToDraw false
Office.Common/Font/SourceViewFont
  FontName Automatic
Office.Common/Font/Substitution
  Replacement false
Office.Common/Print/Option/File
  ConvertToGreyscales false
  PDFAsStandardPrintJobFormat true
  ReduceBitmaps false
  ReduceGradients false
  ReduceTransparency false
  ReducedBitmapIncludesTransparency true
  ReducedBitmapMode 1
  ReducedBitmapResolution 3
  ReducedGradientMode 0
  ReducedGradientStepCount 64
  ReducedTransparencyMode 0
Office.Common/Print/Option/Printer
  ConvertToGreyscales false
  PDFAsStandardPrintJobFormat true
  ReduceBitmaps false
  ReduceGradients false
  ReduceTransparency false
  ReducedBitmapIncludesTransparency true
  ReducedBitmapMode 1
  ReducedBitmapResolution 3
  ReducedGradientMode 0
  ReducedGradientStepCount 64
  ReducedTransparencyMode 0
Office.Linguistic/General
  DefaultLocale
  DefaultLocale_CJK
  DefaultLocale_CTL
  IsIgnoreControlCharacters true
Office.Linguistic/General/DictionaryList
  IsUseDictionaryList true
Office.Linguistic/GrammarChecking
  IsAutoCheck true
  IsInteractiveCheck true
Office.Linguistic/Hyphenation
  IsHyphAuto false
  IsHyphSpecial true
  MinLeading 2
  MinTrailing 2
  MinWordLength 5
Office.Linguistic/SpellChecking
  IsReverseDirection false
  IsSpellAuto true
  IsSpellCapitalization true
  IsSpellSpecial true
  IsSpellUpperCase true
  IsSpellWithDigits false
Office.Linguistic/TextConversion
  ActiveConversionDictionaries
  IsAutoCloseDialog false
  IsAutoReplaceUniqueEntries false
  IsDirectionToSimplified true
  IsIgnorePostPositionalWord true
  IsReverseMapping false
  IsShowEntriesRecentlyUsedFirst false
  IsTranslateCommonTerms false
  IsUseCharacterVariants false
Office.Writer/Content/Display
  DefaultAnchor 1
  DrawingControl true
  FieldCode false
  GraphicObject true
  Note true
  ShowChangesInMargin false
  ShowContentTips true
  ShowInlineTooltips true
  ShowOutlineContentVisibilityButton false
  Table true
  TreatSubOutlineLevelsAsContent false
  UseHeaderFooterMenu true
Office.Writer/Content/NonprintingCharacter
  Bookmarks true
  Break true
  HiddenCharacter false
  HiddenParagraph false
  HiddenText false
  MetaCharacters false
  OptionalHyphen true
  ParagraphEnd true
  ProtectedSpace true
  Space true
  Tab true
Office.Writer/Content/Update
  Chart true
  Field true
  Link 1
Office.Writer/Cursor/DirectCursor
  UseDirectCursor false
Office.Writer/Cursor/Option
  ProtectedArea true
Office.Writer/DefaultFont
  Caption
  CaptionHeight
  Document false
  Heading Liberation Serif
  HeadingHeight
  Index
  IndexHeight
  List
  ListHeight
  Standard
  StandardHeight
Office.Writer/DefaultFontCJK
  Caption
  CaptionHeight
  Heading
  HeadingHeight
  Index
  IndexHeight
  List
  ListHeight
  Standard
  StandardHeight
Office.Writer/DefaultFontCTL
  Caption
  CaptionHeight
  Heading
  HeadingHeight
  Index
  IndexHeight
  List
  ListHeight
  Standard
  StandardHeight
Office.Writer/FormLetter/FileOutput
  Path
Office.Writer/FormLetter/FileOutput/FileName
  FromDatabaseField
  FromManualSetting
  Generation true
Office.Writer/FormLetter/FileOutput/FilePassword
  FromDatabaseField
  Generation false
Office.Writer/FormLetter/MailingOutput
  Format 0
Office.Writer/FormLetter/PrintOutput
  AskForMerge true
  SinglePrintJobs false
Office.Writer/Grid/Option
  SnapToGrid false
  Synchronize false
  VisibleGrid false
Office.Writer/Grid/Resolution
  XAxis 1000
  YAxis 1000
Office.Writer/Grid/Subdivision
  XAxis 3
  YAxis 3
Office.Writer/Index
  ShowPreview true
Office.Writer/Insert/Caption
  Automatic false
Office.Writer/Insert/Caption/OfficeObject/Calc
  Enable false
Office.Writer/Insert/Caption/OfficeObject/Calc/Settings
  ApplyAttributes false
  CharacterStyle
  Delimiter .
  Level 0
  Numbering 4
  Position 1
Office.Writer/Insert/Caption/OfficeObject/Chart
  Enable false
Office.Writer/Insert/Caption/OfficeObject/Chart/Settings
  ApplyAttributes false
  CharacterStyle
  Delimiter .
  Level 0
  Numbering 4
  Position 1
Office.Writer/Insert/Caption/OfficeObject/Draw
  Enable false
Office.Writer/Insert/Caption/OfficeObject/Draw/Settings
  ApplyAttributes false
  CharacterStyle
  Delimiter .
  Level 0
  Numbering 4
  Position 1
Office.Writer/Insert/Caption/OfficeObject/Formula
  Enable false
Office.Writer/Insert/Caption/OfficeObject/Formula/Settings
  ApplyAttributes false
  CharacterStyle
  Delimiter .
  Level 0
  Numbering 4
  Position 1
Office.Writer/Insert/Caption/OfficeObject/Impress
  Enable false
Office.Writer/Insert/Caption/OfficeObject/Impress/Settings
  ApplyAttributes false
  CharacterStyle
  Delimiter .
  Level 0
  Numbering 4
  Position 1
Office.Writer/Insert/Caption/OfficeObject/OLEMisc
  Enable false
Office.Writer/Insert/Caption/OfficeObject/OLEMisc/Settings
  ApplyAttributes false
  CharacterStyle
  Delimiter .
  Level 0
  Numbering 4
  Position 1
Office.Writer/Insert/Caption/WriterObject/Frame
  Enable false
Office.Writer/Insert/Caption/WriterObject/Frame/Settings
  CharacterStyle
  Delimiter .
  Level 0
  Numbering 4
  Position 1
Office.Writer/Insert/Caption/WriterObject/Graphic
  Enable false
Office.Writer/Insert/Caption/WriterObject/Graphic/Settings
  ApplyAttributes false
  CharacterStyle
  Delimiter .
  Level 0
  Numbering 4
  Position 1
Office.Writer/Insert/Caption/WriterObject/Table
  Enable false
Office.Writer/Insert/Caption/WriterObject/Table/Settings
  CharacterStyle None
  Delimiter .
  Level 0
  Numbering 4
  Position 0
Office.Writer/Insert/Table
  Border true
  Header false
  RepeatHeader true
  Split true
Office.Writer/Layout/Line
  Guide false
Office.Writer/Layout/Other
  ApplyCharUnit false
  IsAlignMathObjectsToBaseline true
  IsSquaredPageMode true
  MeasureUnit 8
Office.Writer/Layout/ViewLayout
  BookMode false
  Columns 1
Office.Writer/Layout/Window
  HorizontalRuler true
  HorizontalRulerUnit
  HorizontalScroll true
  IsVerticalRulerRight false
  ShowRulers true
  ShowScrollBarTips false
  SmoothScroll false
  VerticalRuler false
  VerticalRulerUnit
  VerticalScroll true
Office.Writer/Layout/Zoom
  Type 0
  Value 100
Office.Writer/Misc
  GraphicToGalleryAsLink true
Office.Writer/Numbering/Graphic
  KeepRatio false
Office.Writer/Revision/LinesChanged
  Color 0
  Mark 3
Office.Writer/Revision/TextDisplay/ChangedAttribute
  Attribute 1
  Color -1
Office.Writer/Revision/TextDisplay/Delete
  Attribute 3
  Color -1
Office.Writer/Revision/TextDisplay/Insert
  Attribute 3
  Color -1
Office.WriterWeb/Background
  Color -1
Office.WriterWeb/Content/Display
  DrawingControl true
  FieldCode false
  GraphicObject true
  Note true
  Table true
Office.WriterWeb/Content/NonprintingCharacter
  Break true
  MetaCharacters false
  OptionalHyphen true
  ParagraphEnd true
  ProtectedSpace true
  Space true
Office.WriterWeb/Grid/Option
  SnapToGrid false
  Synchronize false
  VisibleGrid false
Office.WriterWeb/Grid/Resolution
  XAxis 1000
  YAxis 1000
Office.WriterWeb/Grid/Subdivision
  XAxis 3
  YAxis 3
Office.WriterWeb/Layout/Line
  Guide false
Office.WriterWeb/Layout/Other
  IsAlignMathObjectsToBaseline true
  MeasureUnit 8
Office.WriterWeb/Layout/Window
  HorizontalRuler true
  HorizontalRulerUnit
  HorizontalScroll true
  ShowRulers true
  SmoothScroll false
  VerticalRuler false
  VerticalRulerUnit
  VerticalScroll true
Office.WriterWeb/Layout/Zoom
  Type 0
  Value 100
"""
_ODD = {
    "/org.openoffice.Office.Linguistic/General/DictionaryList/ActiveDictionaries": (
        "technical.dic\nList of Ignored Words"
    ),
    "/org.openoffice.Office.Writer/Statistics/WordNumber/Delimiter": "() \\t\\n\\xff",
}
"""Values with white space in them."""


def written_by_itself() -> dict[str, str]:
    """Name -> value, of options that are as they come."""
    found = dict(_ODD)
    group = ""
    for line in _PAGES.strip().splitlines():
        if line.startswith("  "):
            name, _, value = line.strip().partition(" ")
            found[f"/org.openoffice.{group}/{name}"] = value
        else:
            group = line
    return found
