"""The vocabulary of OSWorld's harness: step types, getters, and how each comes by its value.

From the task files of OSWorld and the getters that its harness and WindowsAgentArena's export.
"""

from __future__ import annotations

from pyrite.audit.definition import Reach


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


STEPS = _words(
    """
    download upload_file change_wallpaper tidy_desktop open launch execute command sleep act replay
    activate_window close_window chrome_open_tabs chrome_close_tabs googledrive login
    update_browse_history set_default_browser close_all clean_up_files proxy
    """
)
SILENT = _words(
    """
    launch execute command activate_window close_window close_all
    """
)
"""Their failure is logged and no more; activate_window on Linux is not even that."""

CDP = _words(
    """
    active_tab_info active_tab_html_parse active_tab_url_parse open_tabs_info page_info url_path_parse
    url_dashPart pdf_from_url gotoRecreationPage_and_get_html_content info_from_website
    number_of_search_results macys_product_url_parse active_tab_contains_text active_tab_info_simple
    youtube_captions_enabled google_maps_state
    """
)
ACTS = CDP | {"googledrive_file"}
LIVE = _words(
    """
    pdf_from_url gotoRecreationPage_and_get_html_content info_from_website page_info
    number_of_search_results
    """
)
"""They open a website that nobody froze."""
APP = _words(
    """
    active_url_from_accessTree accessibility_tree vlc_playing_info vm_terminal_output vm_window_size
    vm_screen_size vm_wallpaper vm_active_window_title chrome_page_zoom_from_access_tree
    is_details_view edge_immersive_reader_state check_if_timer_started
    """
)
COMMANDS = frozenset(["vm_command_line", "vm_command_error"])
READS = _words(
    """
    default_search_engine cookie_data bookmarks shortcuts_on_desktop history enabled_experiments
    chrome_language chrome_font_size chrome_appearance_mode_ui profile_name download_path
    enable_do_not_track enable_safe_browsing enable_enhanced_safety_browsing new_startup_page
    find_unpacked_extension_path data_delete_automacally find_installed_extension_name
    live_caption_enabled live_caption_languages cache_file content_from_vm_file
    vm_file_exists_in_vm_folder desktop_file_content vm_folder_exists_in_documents
    vm_file_exists_in_desktop are_files_sorted_by_modified_time all_png_file_names
    zipped_folder_in_desktop is_all_docx_in_archive is_file_hidden is_directory_read_only_for_user
    are_all_images_tagged is_file_desktop vm_library_folders is_files_moved_downloads
    is_file_saved_desktop sticky_notes_content gimp_config_file audio_in_slide
    background_image_in_slide list_directory vlc_config default_video_player vscode_config
    conference_city_in_order is_red_circle_present_on_canvas image_dimension_matches_input
    check_if_world_clock_exists thunderbird_calendar_events profile_name_from_edge favorites
    cookie_data_for_edge history_for_edge enable_do_not_track_from_edge
    enable_enhanced_safety_browsing_from_edge data_delete_automacally_from_edge edge_font_size
    default_search_engine_from_edge url_shortcuts_on_desktop night_light_state default_browser
    storage_sense_run_frequency active_hours_of_user_to_not_interrupt_for_windows_updates
    system_timezone desktop_background system_notifications mono_audio_enabled visual_audio_alerts
    notification_duration caption_style_names selected_caption_style_name edge_home_page
    validate_pwa_installed edge_default_download_folder replay
    """
)
CLOCK = frozenset({"rule_relativeTime", "time_diff_range"})
"""What they give depends on the day of the run."""


def reach(name: str, *, expected: bool) -> Reach:
    """How a getter of that name comes by its value; a command is looked at by the reader."""
    if name == "rule":
        return "rule"
    if name in CLOCK:
        return "relative"
    if name == "cloud_file":
        return "published"
    if name in ACTS:
        return "acts"
    if name in APP:
        return "app"
    if name == "vm_file":
        return "derived" if expected else "file"
    if name in READS or name in COMMANDS:
        return "read"
    return "unknown"
